/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/net/dev: network traffic
 *
 * An interface is loopback if it is "lo", has "loopback" in its name, or has type 772 in sysfs. It is physical if it
 * has a device link in sys/class/net; the slaves of a bond are thus physical and the bond is virtual, and traffic is
 * counted once. The exception are pairs whose master is hardware as well (the fast path of a virtual machine's
 * interface): the slave counts as virtual, since the master counts its traffic.
 *
 * In a container, the only interface is often one end of a veth pair, named eth0: it counts as virtual. Without
 * sys/class/net, all interfaces except loopback count as physical.
 */

#include "sample/devices.h"

/*
 * Fills nets and n_nets, which is 0 on failure. Rebuilds the list from sys/class/net under root_fd if the text has
 * other devices. Returns 0, TEXT_MALFORMED or -ENOMEM.
 */
int netdev_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault);
