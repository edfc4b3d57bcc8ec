"""A second FIDO key, made through uhid: to udev and every client it is a USB device."""

import os
import struct

CREATE2, DESTROY = 11, 1
BUS_USB = 3
# Usage page F1D0, usage 1; reports of 64 bytes in and out (CTAP section 11.2.8.1).
REPORT_DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")


class HardwareKey:
    """A plugged-in key until `pull_out`. It never answers: clients wait, as for a touch."""

    def __init__(self, name="Example Key", serial="0001", port="usb-0000:00:14.0-1/input0", product=0x0002):
        # struct uhid_create2_req of <linux/uhid.h>: name, phys, uniq, sizes, bus, ids and the descriptor.
        device = struct.pack(
            "<128s64s64sHHIIII", name.encode(), port.encode(), serial.encode(), len(REPORT_DESCRIPTOR), BUS_USB,
            0x1209, product, 0, 0,
        )
        self.uhid = os.open("/dev/uhid", os.O_RDWR)
        os.write(self.uhid, struct.pack("<I", CREATE2) + (device + REPORT_DESCRIPTOR).ljust(4372, b"\0"))

    def pull_out(self):
        os.write(self.uhid, struct.pack("<I", DESTROY))
        os.close(self.uhid)
