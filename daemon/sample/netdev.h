/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/net/dev: network traffic
 *
 * Loopback: "lo", a name with "loopback" in it, or type 772 in sysfs. Physical: has a device link in
 * sys/class/net; so the slaves of a bond are physical and the bond is virtual, and traffic is counted once.
 * The exception are pairs where the master has hardware too (the fast path of a virtual machine's
 * interface): there the slave is the virtual one, for the master counts its traffic.
 *
 * Inside a container the only interface is often one end of a veth pair called eth0: it stays virtual.
 * Without a sys/class/net everything but loopback counts as physical.
 */

#include "sample/devices.h"

/*
 * Fills nets and n_nets, which is 0 unless 0 is returned. The list is built anew from sys/class/net under root_fd when the text has
 * other devices. 0, TEXT_MALFORMED or -ENOMEM.
 */
int netdev_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault);
