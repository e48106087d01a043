import { describe, expect, it } from 'vitest'
import { ConnectionLostError } from '../lib/postgres-client.ts'
import type { Database } from '../store/database.ts'
import type { Standing, StartedRunsOptions } from './started-runs.ts'
import { StartedRuns } from './started-runs.ts'

const standing: Standing = {
  ...{ executionId: '0195d3c4-7a70-7000-8000-000000000001', fence: 1, tenant: 'acme', labels: {}, traceparent: null },
  ...{ payload: null, dag: 'nightly', signal: new AbortController().signal },
}

/** Its run is there already. Each statement fails `failures` times before. */
function stage({ failures, error }: { failures: number; error: Error }) {
  const asked = new Map<string, number>()
  const database = {
    async query(name: string) {
      const times = (asked.get(name) ?? 0) + 1
      asked.set(name, times)
      if (times <= failures) throw error
      return name === 'take-dag-run' ? [{ verdict: 'RUNNING' }] : []
    },
  } as unknown as Database
  return new StartedRuns({ database } as StartedRunsOptions)
}

describe('an execution that stands for a run', () => {
  it('waits out trouble of the database: its attempt is for what the run comes to', async () => {
    const runs = stage({ failures: 2, error: new ConnectionLostError(null, 'ECONNRESET') })
    expect(await runs.start(standing)).toBe('WAITS')
  })

  it('waits no longer than its attempt lasts', async () => {
    const lasting = new AbortController()
    const runs = stage({ failures: Number.POSITIVE_INFINITY, error: new ConnectionLostError(null, 'ECONNRESET') })
    const started = runs.start({ ...standing, signal: lasting.signal })
    lasting.abort()
    await expect(started).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('fails at once for any other error', async () => {
    await expect(stage({ failures: 1, error: new RangeError('no') }).start(standing)).rejects.toThrow('no')
  })
})
