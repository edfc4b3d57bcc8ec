#pragma once
// The API of webrtcbin is marked unstable; the parts used here have not changed since GStreamer 1.16.
#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/sdp/sdp.h>
#include <gst/webrtc/webrtc.h>
