#pragma once
// Constants and layout of uhid and hidraw, from the kernel's own headers.
#include <linux/hidraw.h>
#include <linux/input.h>
#include <linux/uhid.h>
