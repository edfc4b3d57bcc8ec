#pragma once
// The library of webrtcbin calls itself unstable; what is used of it has not changed since GStreamer 1.16.
#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/sdp/sdp.h>
#include <gst/webrtc/webrtc.h>
