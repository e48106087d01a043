import { expect, test } from 'vitest'
import { ServerClock } from './clock.ts'

test('the estimate of the server’s time never runs ahead of it, and the quickest answer counts', () => {
  let now = 0
  const truth = () => now + 1_000_000
  const clock = new ServerClock({ now: () => now })
  const answer = (delayMs: number) => {
    const stamped = truth()
    now += delayMs
    clock.observe(stamped)
    expect(clock.now()).toBeLessThanOrEqual(truth())
  }
  answer(80)
  expect(truth() - clock.now()).toBe(80)
  answer(5)
  answer(200)
  expect(truth() - clock.now()).toBe(5)
  expect(clock.toLocal(clock.at(now))).toBe(now)
})

test('a server clock that was set back is followed within seconds', () => {
  let now = 0
  const clock = new ServerClock({ now: () => now })
  clock.observe(1_000_000)
  for (; now <= 30_000; now += 5_000) clock.observe(500_000 + now)
  expect(clock.now()).toBe(500_000 + now)
})
