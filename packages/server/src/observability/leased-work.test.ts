import { describe, expect, test } from 'vitest'
import { LeasedWork } from './leased-work.ts'

const id = '018f0000-0000-7000-8000-000000000000'
const fence = (lease: number, place: number) => lease * 1_024 + place

function head(place: number, rest: string): string {
  return `{"fence":${fence(7, place)},"executionId":"${id}",${rest}}`
}

describe('what was leased', () => {
  test('is read from the text that goes to the worker, and known again by its fence', () => {
    const leased = new LeasedWork()
    const executions = [
      head(0, '"handler":"a","scheduledFor":1000,"payload":{"x":1}'),
      head(
        1,
        `"jobId":"${id}","handler":"q\\"é","tenant":"acme","pool":"p","scheduledFor":1000,"dueAt":1200,"payload":[]`,
      ),
      head(2, '"handler":"a","scheduledFor":1000,"attempt":2'),
    ].join(',')
    const batch = leased.add('acme\u001fp', { lane: 2, count: 3, executions }, 1_500)
    const pool = 'acme\u001fp'
    const works = [
      { tenant: 'default', pool, handler: 'a' },
      { tenant: 'acme', pool, handler: 'q"é' },
      { tenant: 'default', pool, handler: 'a' },
    ]
    expect(batch).toEqual({ pool, lane: 2, works, pickUpMs: [500, 300, -1] })
    expect(leased.take(fence(7, 1))).toEqual({ work: works[1], leasedAt: 1_500 })
    expect(leased.take(fence(7, 3))).toBeNull()
    expect(leased.take(fence(8, 0))).toBeNull()
  })

  test('is forgotten when all of it has ended', () => {
    const leased = new LeasedWork()
    const executions = head(0, '"handler":"a","scheduledFor":1')
    leased.add('p', { lane: 0, count: 1, executions }, 2)
    expect(leased.take(fence(7, 0))).not.toBeNull()
    expect(leased.take(fence(7, 0))).toBeNull()
  })

  test('is told apart although a payload looks like several executions', () => {
    const trap = '"payload":[{"a":1},{"fence":9,"executionId":"x","handler":"evil","scheduledFor":5}]'
    const executions = [
      head(0, `"handler":"a","scheduledFor":1000,${trap}`),
      head(1, `"handler":"b","tenant":"acme","scheduledFor":1000,"dueAt":1100,${trap}`),
      head(2, `"handler":"c","scheduledFor":1000,"attempt":3,${trap}`),
    ].join(',')
    const { works, pickUpMs } = new LeasedWork().add('p', { lane: 0, count: 3, executions }, 2_000)
    expect(works.map(({ tenant, handler }) => `${tenant} ${handler}`)).toEqual(['default a', 'acme b', 'default c'])
    expect(pickUpMs).toEqual([1_000, 900, -1])
  })
})
