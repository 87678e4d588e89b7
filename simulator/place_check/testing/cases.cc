#include "simulator/place_check/testing/cases.h"

namespace mallocmuzero::place_check {

const PlacedCase kChain = {"chain",
                           R"(
computation add
  a.p0 = f32[1024] parameter() number=0
  a.p1 = f32[1024] parameter() number=1
  ROOT a.add = f32[1024] add(a.p0, a.p1)
computation negate
  b.p0 = f32[1024] parameter() number=0
  ROOT b.neg = f32[1024] negate(b.p0)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  c = f32[1024] constant() value=3
  f1 = f32[1024] fusion(x, w) calls=add config={"estimate":7}
  g = f32[1024] negate(x) after=f1
  view = f32[32,32] bitcast(f1)
  back = f32[1024] bitcast(view)
  f2 = f32[1024] fusion(back) calls=negate
  f3 = f32[1024] fusion(f2, w) calls=add
  h = f32[1024] add(f3, g)
  ROOT r = f32[1024] add(h, c)
)",
                           R"(
computation add.1
  q.p0 = f32[1024] parameter() number=0
  q.p1 = f32[1024]S1 parameter() number=1
  ROOT q.add = f32[1024]S1 add(q.p0, q.p1)
computation negate
  b.p0 = f32[1024]S1 parameter() number=0
  ROOT b.neg = f32[1024]S1 negate(b.p0)
computation add.2
  a.p0 = f32[1024] parameter() number=0
  a.p1 = f32[1024]S1 parameter() number=1
  ROOT a.add = f32[1024] add(a.p0, a.p1)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  c = f32[1024] constant() value=3
  ws = (f32[1024]S1, f32[1024], u32[]S2) copy-start(w)
  wd = f32[1024]S1 copy-done(ws)
  f1 = f32[1024]S1 fusion(x, wd) calls=add.1
  g = f32[1024] negate(x)
  back = f32[1024]S1 bitcast(f1)
  f2 = f32[1024]S1 fusion(back) calls=negate
  es = (f32[1024], f32[1024]S1, u32[]S2) copy-start(f2)
  ed = f32[1024] copy-done(es)
  f3 = f32[1024] fusion(ed, wd) calls=add.2
  h = f32[1024] add(f3, g)
  ROOT r = f32[1024] add(h, c)
)"};

const PlacedCase kUpdate = {"update",
                            R"(
computation update
  u.p0 = f32[1024] parameter() number=0
  u.p1 = f32[16] parameter() number=1
  u.p2 = s32[] parameter() number=2
  u.cast = f32[1024] bitcast(u.p0)
  ROOT u.dus = f32[1024] dynamic-update-slice(u.cast, u.p1, u.p2)
entry main
  x = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  buffer = f32[1024] negate(x)
  before = f32[1024] negate(buffer)
  up = f32[1024] fusion(buffer, y, i) calls=update
  after = f32[1024] add(up, before)
  down = f32[1024] custom-call(up, after) target=Kernel over=0
  ROOT r = (f32[1024], f32[1024]) tuple(after, down)
)",
                            R"(
computation update
  u.p0 = f32[1024]S1 parameter() number=0
  u.p1 = f32[16] parameter() number=1
  u.p2 = s32[] parameter() number=2
  u.cast = f32[1024]S1 bitcast(u.p0)
  ROOT u.dus = f32[1024]S1 dynamic-update-slice(u.cast, u.p1, u.p2)
entry main
  x = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  buffer = f32[1024]S1 negate(x)
  bs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(buffer)
  bd = f32[1024] copy-done(bs)
  before = f32[1024] negate(bd)
  up = f32[1024]S1 fusion(buffer, y, i) calls=update
  us = (f32[1024], f32[1024]S1, u32[]S2) copy-start(up)
  ud = f32[1024] copy-done(us)
  after = f32[1024] add(up, before)
  down = f32[1024] custom-call(ud, after) target=Kernel over=0
  ROOT r = (f32[1024], f32[1024]) tuple(after, down)
)"};

const PlacedCase kLoop = {"loop",
                          R"(
computation body
  bp = (s32[], f32[1024], f32[1024]) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bx = f32[1024] get-tuple-element(bp) index=1
  bw = f32[1024] get-tuple-element(bp) index=2
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  nx = f32[1024] multiply(bx, bw)
  ROOT bt = (s32[], f32[1024], f32[1024]) tuple(ni, nx, bw)
computation condition
  cp = (s32[], f32[1024], f32[1024]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=5
  ROOT less = pred[] compare(ci, five)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  start = f32[1024] copy(x)
  t = (s32[], f32[1024], f32[1024]) tuple(count, start, w)
  loop = (s32[], f32[1024], f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=1
)",
                          R"(
computation body
  bp = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bx = f32[1024]S1 get-tuple-element(bp) index=1
  bw = f32[1024] get-tuple-element(bp) index=2
  bf = f32[1024]S1 get-tuple-element(bp) index=3
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  nx = f32[1024]S1 multiply(bx, bf)
  ROOT bt = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) tuple(ni, nx, bw, bf)
computation condition
  cp = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=5
  ROOT less = pred[] compare(ci, five)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  ws = (f32[1024]S1, f32[1024], u32[]S2) copy-start(w)
  count = s32[] copy(zero)
  start = f32[1024]S1 copy(x)
  wd = f32[1024]S1 copy-done(ws)
  t = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) tuple(count, start, w, wd)
  loop = (s32[], f32[1024]S1, f32[1024], f32[1024]S1) while(t) calls=body,condition
  result = f32[1024]S1 get-tuple-element(loop) index=1
  rs = (f32[1024], f32[1024]S1, u32[]S2) copy-start(result)
  ROOT rd = f32[1024] copy-done(rs)
)"};

const PlacedCase kBranches = {"branches",
                              R"(
computation one
  p0 = f32[1024] parameter() number=0
  ROOT n0 = f32[1024] negate(p0)
computation two
  p1 = (f32[1024], f32[1024]) parameter() number=0
  left = f32[1024] get-tuple-element(p1) index=0
  right = f32[1024] get-tuple-element(p1) index=1
  ROOT s1 = f32[1024] add(left, right)
entry main
  which = pred[] parameter() number=0
  x = f32[1024] parameter() number=1
  y = f32[1024] parameter() number=2
  t = (f32[1024], f32[1024]) tuple(x, y)
  choice = f32[1024] conditional(which, x, t) calls=one,two
  ROOT r = f32[1024] negate(choice)
)",
                              R"(
computation one
  p0 = f32[1024]S1 parameter() number=0
  ROOT n0 = f32[1024]S1 negate(p0)
computation two
  p1 = (f32[1024], f32[1024], f32[1024]S1) parameter() number=0
  left = f32[1024] get-tuple-element(p1) index=0
  right = f32[1024]S1 get-tuple-element(p1) index=2
  ROOT s1 = f32[1024]S1 add(left, right)
entry main
  which = pred[] parameter() number=0
  x = f32[1024] parameter() number=1
  y = f32[1024] parameter() number=2
  xs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(x)
  ys = (f32[1024]S1, f32[1024], u32[]S2) copy-start(y)
  xd = f32[1024]S1 copy-done(xs)
  yd = f32[1024]S1 copy-done(ys)
  t = (f32[1024], f32[1024], f32[1024]S1) tuple(x, y, yd)
  choice = f32[1024]S1 conditional(which, xd, t) calls=one,two
  ROOT r = f32[1024] negate(choice)
)"};

const PlacedCase kPrefetch = {"prefetch",
                              R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  a = f32[1024] negate(x)
  ROOT r = f32[1024] add(a, w)
)",
                              R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  ws = (f32[1024]S1, f32[1024], u32[]S2) copy-start(w) prefetch=0
  a = f32[1024] negate(x)
  wd = f32[1024]S1 copy-done(ws)
  ROOT r = f32[1024] add(a, wd)
prefetch 1
)"};

const PlacedCase kNested = {"nested",
                            R"(
computation inner
  i.p0 = f32[1024] parameter() number=0
  ROOT i.neg = f32[1024] negate(i.p0)
computation outer
  o.p0 = f32[1024] parameter() number=0
  o.f = f32[1024] fusion(o.p0) calls=inner
  o.abs = f32[1024] abs(o.p0)
  ROOT o.t = (f32[1024], f32[1024]) tuple(o.f, o.abs)
computation sum
  s.p0 = f32[] parameter() number=0
  s.p1 = f32[] parameter() number=1
  ROOT s.add = f32[] add(s.p0, s.p1)
entry main
  x = f32[1024] parameter() number=0
  z = f32[] constant() value=0
  f = (f32[1024], f32[1024]) fusion(x) calls=outer
  f0 = f32[1024] get-tuple-element(f) index=0
  f1 = f32[1024] get-tuple-element(f) index=1
  k = f32[1024] custom-call(f0, f1) target=Kernel stated=1 config=kernel
  total = f32[] reduce(k, z) calls=sum
  ROOT r = f32[] negate(total)
)",
                            R"(
computation inner
  i.p0 = f32[1024]S1 parameter() number=0
  ROOT i.neg = f32[1024]S1 negate(i.p0)
computation outer.clone
  o.p0 = f32[1024]S1 parameter() number=0
  o.f = f32[1024]S1 fusion(o.p0) calls=inner
  o.abs = f32[1024] abs(o.p0)
  ROOT o.t = (f32[1024]S1, f32[1024]) tuple(o.f, o.abs)
computation sum
  s.p0 = f32[] parameter() number=0
  s.p1 = f32[] parameter() number=1
  ROOT s.add = f32[] add(s.p0, s.p1)
entry main
  x = f32[1024] parameter() number=0
  z = f32[] constant() value=0
  xs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(x)
  xd = f32[1024]S1 copy-done(xs)
  f = (f32[1024]S1, f32[1024]) fusion(xd) calls=outer.clone
  f0 = f32[1024]S1 get-tuple-element(f) index=0
  f1 = f32[1024] get-tuple-element(f) index=1
  k = f32[1024]S1 custom-call(f0, f1) target=Kernel stated=1 config=kernel
  total = f32[] reduce(k, z) calls=sum
  ROOT r = f32[] negate(total)
)"};

const PlacedCase kDonated = {"donated",
                             R"(
entry main
  cache = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  old = f32[1024] negate(cache)
  up = f32[1024] dynamic-update-slice(cache, y, i)
  sum = f32[1024] add(up, old)
  ROOT r = (f32[1024], f32[1024]) tuple(up, sum)
alias 0 0
)",
                             R"(
entry main
  cache = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  cs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(cache)
  cd = f32[1024]S1 copy-done(cs)
  old = f32[1024] negate(cd)
  up = f32[1024]S1 dynamic-update-slice(cd, y, i)
  us = (f32[1024], f32[1024]S1, u32[]S2) copy-start(up)
  sum = f32[1024] add(up, old)
  ud = f32[1024] copy-done(us)
  ROOT r = (f32[1024], f32[1024]) tuple(ud, sum)
alias 0 0
)"};

const PlacedCase kListed = {"listed",
                            R"(
computation step
  s.p0 = f32[1024] parameter() number=0
  s.p1 = f32[1024] parameter() number=1
  s.add = f32[1024] add(s.p0, s.p1)
  s.sub = f32[1024] subtract(s.p1, s.p0)
  ROOT s.r = (f32[1024], f32[1024]) tuple(s.add, s.sub)
entry main
  w = f32[1024] parameter() number=0
  m = f32[1024] parameter() number=1
  up = (f32[1024], f32[1024]) fusion(w, m) calls=step config={"aliasing_operands":{"lists":[{"indices":["0","2"]},{"indices":["1","3"]}]}}
  w1 = f32[1024] get-tuple-element(up) index=0
  m1 = f32[1024] get-tuple-element(up) index=1
  sum = f32[1024] add(w1, m1)
  ROOT r = (f32[1024], f32[1024], f32[1024]) tuple(w1, m1, sum)
alias 0 0
alias 1 1
)",
                            R"(
computation step
  s.p0 = f32[1024]S1 parameter() number=0
  s.p1 = f32[1024] parameter() number=1
  s.add = f32[1024]S1 add(s.p0, s.p1)
  s.sub = f32[1024] subtract(s.p1, s.p0)
  ROOT s.r = (f32[1024]S1, f32[1024]) tuple(s.add, s.sub)
entry main
  w = f32[1024] parameter() number=0
  m = f32[1024] parameter() number=1
  ws = (f32[1024]S1, f32[1024], u32[]S2) copy-start(w)
  wd = f32[1024]S1 copy-done(ws)
  up = (f32[1024]S1, f32[1024]) fusion(wd, m) calls=step over=0:0
  w1 = f32[1024]S1 get-tuple-element(up) index=0
  m1 = f32[1024] get-tuple-element(up) index=1
  es = (f32[1024], f32[1024]S1, u32[]S2) copy-start(w1)
  sum = f32[1024] add(w1, m1)
  ed = f32[1024] copy-done(es)
  ROOT r = (f32[1024], f32[1024], f32[1024]) tuple(ed, m1, sum)
alias 0 0
alias 1 1
)"};

const PlacedCase kLoopConstant = {"loop_constant",
                                  R"(
computation body
  bp = (f32[1024]) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  c = f32[1024] constant() value=3
  n0 = f32[1024] negate(bx)
  nx = f32[1024] add(n0, c)
  ROOT bt = (f32[1024]) tuple(nx)
computation condition
  cp = (f32[1024]) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  start = f32[1024] copy(x)
  t = (f32[1024]) tuple(start)
  loop = (f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)",
                                  R"(
computation body
  bp = (f32[1024], f32[1024]S1) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  bc = f32[1024]S1 get-tuple-element(bp) index=1
  c = f32[1024] constant() value=3
  n0 = f32[1024] negate(bx)
  nx = f32[1024] add(n0, bc)
  ROOT bt = (f32[1024], f32[1024]S1) tuple(nx, bc)
computation condition
  cp = (f32[1024], f32[1024]S1) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  start = f32[1024] copy(x)
  again = f32[1024] constant() value=3
  cs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(again)
  cd = f32[1024]S1 copy-done(cs)
  t = (f32[1024], f32[1024]S1) tuple(start, cd)
  loop = (f32[1024], f32[1024]S1) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)"};

}  // namespace mallocmuzero::place_check
