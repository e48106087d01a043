import { expect, it } from 'vitest'
import { cpuBetween, cpuPer, cpuShares, familyMs, machineMs, parseStat, timesOf } from './cpu.ts'

it('reads times behind a name that holds anything', () => {
  const line = '42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0 100 1000 10'
  expect(parseStat(line)).toEqual({ parent: 7, ms: 2_000, endedChildrenMs: 500 })
})

// The files it reads exist on Linux only.
it.runIf(process.platform === 'linux')('sees what a process uses', async () => {
  const before = (await timesOf(process.pid))!
  const until = process.cpuUsage().user + 100_000
  while (process.cpuUsage().user < until);
  const after = (await timesOf(process.pid))!
  expect(after.ms - before.ms).toBeGreaterThanOrEqual(80)
  expect(after.parent).toBe(process.ppid)
  expect(await familyMs(process.pid)).toBeGreaterThanOrEqual(after.ms)
  expect(await machineMs()).toBeGreaterThan(after.ms)
  expect(await timesOf(2 ** 30)).toBeNull()
})

it('tells the difference by role, for a unit of work and for a time', () => {
  const before = { node: 10, worker: 10, postgres: 10, generator: 10, other: 10 }
  const used = cpuBetween(before, { node: 20, worker: 10, postgres: 1_010, generator: 9, other: 10 })
  expect(used).toEqual({ node: 10, worker: 0, postgres: 1_000, generator: 0, other: 0 })
  // A server that was started meanwhile.
  expect(cpuBetween(before, { ...before, kafka: 30 })).toMatchObject({ postgres: 0, kafka: 30 })
  expect(cpuPer(used, 1_000)).toMatchObject({ 'cpu node µs': 10, 'cpu postgres µs': 1_000 })
  expect(cpuShares(used, 2_000)).toMatchObject({ 'cpu node %': 0.5, 'cpu postgres %': 50 })
})
