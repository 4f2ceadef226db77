// All functions of this folder.
#pragma once
#include "compiler/kernel/math/complex_functions.h"
#include "compiler/kernel/math/erf.h"
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/hyperbolic.h"
#include "compiler/kernel/math/inverse_trigonometric.h"
#include "compiler/kernel/math/log.h"
#include "compiler/kernel/math/narrow_power.h"
#include "compiler/kernel/math/power.h"
#include "compiler/kernel/math/remainder.h"
#include "compiler/kernel/math/root.h"
#include "compiler/kernel/math/trigonometric.h"
