import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { goodHistory } from '../checkers/history.test-support.ts'
import { Burners } from './burners.ts'
import { keepingRecords } from './records.ts'
import type { Stage } from './stage.ts'
import { hasFailed, type Summary, summaryTable } from './summary.ts'

const good: Summary = {
  ...{ seed: 7, violations: [], shortfalls: [], lost: 0, doubled: 0, fired: 14_000, longestGapMs: 900 },
}
const violation = { checker: 'everything-ends', subject: 'e1', problem: 'is still RUNNING' }

it('of several seeds, each has a line, and the failing ones are named last', () => {
  const bad: Summary = { ...good, seed: 8, violations: [violation, violation], records: '/records/seed-8' }
  const broken: Summary = { seed: 9, error: 'Error: the nodes did not start' }
  expect([good, bad, broken].map(hasFailed)).toEqual([false, true, true])
  const lines = summaryTable([good, bad, broken])
  expect(lines).toHaveLength(5)
  expect(lines[2]).toMatch(/^8 .* everything-ends 2; \/records\/seed-8$/)
  expect(lines[3]).toMatch(/^9 .*the nodes did not start$/)
  expect(lines[4]).toBe('3 seeds, 2 failed: 8, 9')
})

it('a failing run keeps its seed, violations, history and logs; one that is clean keeps nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-records-'))
  const stage = {
    copyLogs: (to: string) => writeFile(join(to, 'node-1.log'), 'said'),
  } as unknown as Stage
  const options = {
    ...{ seed: 8, records: { folder, again: 'npm run chaos -- --seed 8' } },
    ...{ signal: new AbortController().signal, log() {} },
  }
  const history = goodHistory()
  const clean = await keepingRecords(stage, options, async () => ({ violations: [], history }))
  expect(clean).not.toHaveProperty('records')
  const { records } = await keepingRecords(stage, options, async () => ({ violations: [violation], history }))
  const read = async (name: string) => readFile(join(records!, name), 'utf8')
  expect(JSON.parse(await read('violations.json'))).toEqual({
    ...{ seed: 8, again: 'npm run chaos -- --seed 8', violations: [violation] },
  })
  expect(JSON.parse(await read('history.json'))).toEqual(history)
  expect(await read('node-1.log')).toBe('said')
  const failing = keepingRecords(stage, options, () => Promise.reject(new Error('the nodes did not start')))
  await expect(failing).rejects.toThrow('did not start')
  expect(JSON.parse(await read('violations.json')).error).toMatch(/the nodes did not start/)
  await rm(folder, { recursive: true })
})

it('what burns the CPU ends with the run', async () => {
  const burners = new Burners(2)
  const { pids } = burners
  expect(pids).toHaveLength(2)
  for (const pid of pids) expect(process.kill(pid, 0)).toBe(true)
  await burners[Symbol.asyncDispose]()
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})
