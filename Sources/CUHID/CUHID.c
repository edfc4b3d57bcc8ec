#include "CUHID.h"
