#pragma once
#include "PrecompiledTile.h"
#include "dialects/PolyAttn/PolyAttn.h"
