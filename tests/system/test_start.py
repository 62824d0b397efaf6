"""Checks startup: obstacles are reported, and files of other processes are not touched."""

import subprocess
import unittest

import harness


class Start(harness.TestCase):
    def perfd(self, *words):
        """Runs perfd with arguments that prevent its start."""
        directory = self.temporary_directory()
        command = [harness.PERFD, "--http", "off", "--state", directory / "state", "--socket", directory / "perfd.sock", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=harness.TIMEOUT_S)

    def test_a_file_in_the_place_of_the_socket_is_left_alone(self):
        path = self.temporary_directory() / "precious"
        path.write_text("mine")
        done = self.perfd("--socket", path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"Cannot listen on {path}: File exists; the file is not a socket", done.stderr)
        self.assertEqual(path.read_text(), "mine")

    def test_a_file_in_the_place_of_the_http_socket_is_left_alone(self):
        directory = self.temporary_directory()
        (directory / "http.sock").symlink_to("elsewhere")
        done = self.perfd("--socket", directory / "perfd.sock")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("http.sock: File exists; the file is not a socket", done.stderr)
        self.assertTrue((directory / "http.sock").is_symlink())

    def test_a_socket_that_a_killed_perfd_left_is_used_again(self):
        daemon = self.daemon()
        daemon.kill()
        self.assertTrue(daemon.socket.is_socket())
        daemon.start()
        self.assert_status(daemon.client().hello(), "OK")

    def test_a_directory_as_configuration_is_an_error(self):
        directory = self.temporary_directory()
        done = self.perfd("--config", directory)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn(f"{directory}: cannot be read: Is a directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
