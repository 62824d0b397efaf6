"""Traffic over soft RoCE, and a kernel's NFS server and client, in a virtual machine whose kernel has modules for both. Not in
.ci/run: its image takes a minute to make."""

import json
import re
import unittest

import vm

PACKAGES = "nfs-kernel-server nfs-common iproute2 ibverbs-utils ibverbs-providers rdma-core"
MIB = 1 << 20
PORT = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
ROCE = """set -e; modprobe rdma_rxe; ip link add d0 type dummy; ip addr add 10.9.0.1/24 dev d0; ip link set d0 up
rdma link add rxe0 type rxe netdev d0"""
PING = "(ibv_rc_pingpong -d rxe0 -g 1 -n 100 -s 4096 &); sleep 3; ibv_rc_pingpong -d rxe0 -g 1 -n 100 -s 4096 127.0.0.1; sleep 2"
SERVER = """set -e; mkdir -p /export /mnt/3 /mnt/4 /home/a; mount -t tmpfs none /export; mkdir /export/a
echo '/export 127.0.0.1(rw,no_root_squash,no_subtree_check,fsid=7,insecure)' >/etc/exports; systemctl start rpcbind nfs-server
dd if=/dev/urandom of=/export/x bs=1M count=6"""
CLIENT = """set -e
mount -t nfs -o vers=3,nolock 127.0.0.1:/export /mnt/3; mount -t nfs -o vers=4.2 127.0.0.1:/export /mnt/4
mount -t nfs -o vers=4.2 127.0.0.1:/export/a /home/a"""
# Prints /metrics, without a client of HTTP.
METRICS = """#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/9847; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"""
DROP = "sync; echo 3 >/proc/sys/vm/drop_caches"


@unittest.skipIf(vm.why_not(), vm.why_not())
class Fabric(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = vm.Machine(conf="[sampling]\ninterval = 500ms\n", packages=PACKAGES, modules=True)
        cls.addClassCleanup(cls.machine.end)
        cls.machine.run(f"cat >/usr/local/bin/metrics <<'EOF'\n{METRICS}\nEOF\nchmod +x /usr/local/bin/metrics; ip link set lo up")

    def job(self, name, script):
        """Runs a script as a job. Returns the values of its report and the reasons for those that are absent, by key."""
        self.machine.run(f"cat >/run/{name} <<'EOF'\nset -e\n{script}\nEOF\nperfctl run --job {name} -- bash /run/{name}")
        shown = json.loads(self.machine.run(f"perfctl report --json {name}"))
        return ({m["key"]: m for m in shown["metrics"]}, {a["key"]: a["reason"] for a in shown["absent"]})

    def assert_exact(self, metrics, key, value):
        self.assertEqual((metrics[key]["value"], metrics[key]["quality"]), (value, "exact"), key)

    def node(self, family, **labels):
        """Returns a number of /metrics; None if there is none."""
        words = "".join(f'[^}}]*{label}="{re.escape(value)}"' for label, value in labels.items())
        found = re.search(rf"(?m)^perfd_node_{family}{{{words}[^}}]*}} (\S+)$", self.machine.run("metrics"))
        return found and float(found[1])

    def kernel(self, mount):
        """Returns what the kernel counts for a mount of NFS: bytes and operations."""
        text = self.machine.run("cat /proc/self/mountstats").partition(f" mounted on {mount} with")[2].partition("\ndevice ")[0]
        bytes_ = re.search(r"(?m)^\tbytes:\t(.*)$", text)[1].split()
        operations = {name: int(n) for name, n in re.findall(r"(?m)^\t *(\w+): (\d+) ", text.partition("per-op statistics")[2])}
        return int(bytes_[4]), int(bytes_[5]), operations

    def test_packets_of_soft_roce_are_the_kernels(self):
        self.machine.run(ROCE)
        self.machine.wait("metrics | grep -q 'perfd_node_fabric_active.*rxe0:1.* 1$'", "the port")
        metrics, absent = self.job("roce", PING)
        self.assertRegex(absent["total_net_io_ib_sent_mb"], "^Not readable")
        self.assertNotIn("total_net_io_ib_sent_mb", metrics)
        for family, name in (("sent", "sent_pkts"), ("received", "rcvd_pkts")):
            n = int(self.machine.run(f"cat {PORT}/{name}"))
            self.assertGreater(n, 200)
            self.assertEqual(self.node(f"fabric_{family}_packets_total", port="rxe0:1"), n)
        self.assertIsNone(self.node("fabric_sent_bytes_total", port="rxe0:1"))

        self.machine.run("ip link set d0 down")
        self.machine.wait("perfctl doctor | grep -q 'rxe0:1 is DOWN'", "the state of the port")
        self.machine.run("rdma link delete rxe0")
        self.machine.wait("! metrics | grep rxe0:1", "a node without ports")

    def test_bytes_and_operations_of_nfs_are_the_kernels(self):
        self.machine.run(SERVER)
        # What is mounted for a job, as automounters do, counts from its begin; it is unmounted before the job ends. Nothing else is
        # mounted: perfd looks at once when the kernel tells a change.
        metrics, _ = self.job("mounted", "mount -t nfs -o vers=4.1 127.0.0.1:/export /home/a; cat /home/a/x >/dev/null; sleep 1.5; "
                                         "umount /home/a")
        self.assert_exact(metrics, "total_netfs_read_mb", 6)

        self.machine.run(CLIENT)
        self.addCleanup(self.machine.run, "umount /home/a /mnt/4 /mnt/3; systemctl stop nfs-server; umount /export")
        self.machine.wait("metrics | grep -q perfd_node_netfs_reads_total.*/mnt/4", "the mounts")
        self.assertIsNone(self.node("netfs_reads_total", mountpoint="/home/a"), "it shares the superblock of /mnt/4")

        read_before, written_before, before = self.kernel("/mnt/4")
        metrics, _ = self.job("nfs4", f"dd if=/dev/urandom of=/mnt/4/x bs={MIB} count=7; {DROP}; cat /mnt/4/x >/dev/null; sleep 1.5")
        read, written, after = self.kernel("/mnt/4")
        self.assert_exact(metrics, "total_netfs_written_mb", 7)
        self.assert_exact(metrics, "total_netfs_read_mb", 7)
        self.assertEqual((read - read_before, written - written_before), (7 * MIB, 7 * MIB))
        self.assert_exact(metrics, "total_netfs_reads", after["READ"] - before["READ"])
        self.assert_exact(metrics, "total_netfs_writes", after["WRITE"] - before["WRITE"])
        self.assert_exact(metrics, "total_netfs_retransmissions", 0)
        self.assertGreater(metrics["netfs_read_wait_seconds"]["value"], 0)
        self.assertGreater(metrics["netfs_write_wait_seconds"]["value"], 0)
        self.assertEqual(self.node("netfs_read_bytes_total", mountpoint="/mnt/4"), read)

        metrics, _ = self.job("nfs3", f"head -c 3000000 /dev/urandom >/mnt/3/y; {DROP}; cat /mnt/3/y >/dev/null")
        self.assertAlmostEqual(metrics["total_netfs_read_mb"]["value"], 3000000 / MIB, 6)
        self.assertAlmostEqual(metrics["total_netfs_written_mb"]["value"], 3000000 / MIB, 6)

        # A server that does not answer holds up the program that reads, and not perfd.
        samples, missed = ("metrics | sed -n 's/^perfd_samples%s_total //p'" % which for which in ("", "_missed"))
        self.machine.run("echo 0 >/proc/fs/nfsd/threads; (cat /mnt/4/z >/dev/null 2>&1 &)")
        n, n_missed = (int(self.machine.run(number)) for number in (samples, missed))
        self.machine.wait(f"[ $({samples}) -ge {n + 6} ]", "samples")
        self.assertLessEqual(int(self.machine.run(missed)) - n_missed, 2)
        self.machine.run("pgrep -x cat; echo 8 >/proc/fs/nfsd/threads")
        self.machine.wait("! pgrep -x cat", "an answer")


if __name__ == "__main__":
    unittest.main()
