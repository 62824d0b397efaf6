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

/* Fills nets and n_nets, which is 0 unless 0 is returned. 0; TEXT_MALFORMED; TEXT_OTHER_DEVICES when the
 * text's names are not those of the list; -ENOMEM. */
int netdev_parse(const char *text, const DeviceList *list, Sample *sample, const char **ret_fault);

/* Builds the list for this text. net_fd: sys/class/net, or -1 when there is none.
 * 0, TEXT_MALFORMED or -ENOMEM. */
int netdev_classify(const char *text, int net_fd, DeviceList *list, const char **ret_fault);
