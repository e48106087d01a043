import { describe, expect, it } from 'vitest'
import { type EngineSettings, engineConfig } from './engine-config.ts'

const databaseUrl = 'postgres://carillon@localhost:5432/carillon'

function refused(settings: object): { code: string; pointer: string | undefined; message: string } {
  try {
    engineConfig(settings as EngineSettings)
  } catch (error) {
    const { code, errors, message } = error as { code: string; errors: { pointer?: string }[]; message: string }
    return { code, pointer: errors[0]?.pointer, message }
  }
  throw new Error(`accepted: ${JSON.stringify(settings)}`)
}

describe('the settings of an engine', () => {
  it('need a database only; the rest has defaults that fit each other', () => {
    const config = engineConfig({ databaseUrl })
    expect(config).toMatchObject({
      databaseUrl,
      shardCount: 64,
      leaseMs: 2_000,
      renewEveryMs: 500,
      heartbeatEveryMs: 5_000,
    })
    expect(config.statementTimeoutMs).toBeLessThan(config.leaseMs)
    expect(config.nodeName).toContain(`${process.pid}`)
  })

  it('are frozen', () => {
    const config = engineConfig({ databaseUrl })
    expect(() => Object.assign(config, { leaseMs: 1 })).toThrow(TypeError)
  })

  it('take what is given, and undefined for not given', () => {
    const config = engineConfig({ databaseUrl, nodeName: 'a', shardCount: 8, pollMs: undefined })
    expect(config).toMatchObject({ nodeName: 'a', shardCount: 8, pollMs: 1_000 })
  })

  it('name an unknown one, and those that are known', () => {
    const { code, pointer, message } = refused({ databaseUrl, leasems: 2_000 })
    expect({ code, pointer }).toEqual({ code: 'CONFIG_INVALID', pointer: '/leasems' })
    expect(message).toContain('leaseMs')
  })

  it.each([undefined, '', 'localhost', 'postgres://['])('refuse %j for a database', (url) => {
    expect(refused({ databaseUrl: url })).toMatchObject({ code: 'CONFIG_INVALID', pointer: '/databaseUrl' })
  })

  it.each(['redis://a', 'kafka://a/b/c', 'kafka://user@a'])('refuse %j for publishEvents', (url) => {
    expect(refused({ databaseUrl, publishEvents: url })).toMatchObject({
      ...{ code: 'CONFIG_INVALID', pointer: '/publishEvents' },
    })
  })

  const numbers = Object.entries(engineConfig({ databaseUrl })).filter(([, value]) => typeof value === 'number')

  it.each(numbers.map(([key]) => key))('%s must be a whole number in its range', (key) => {
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '500', 1e12, true]) {
      expect(refused({ databaseUrl, [key]: value }), `${key} ${value}`).toMatchObject({
        code: 'CONFIG_INVALID',
        pointer: `/${key}`,
      })
    }
  })
})

describe('relations between settings', () => {
  it.each<[EngineSettings, string | null]>([
    [{ leaseMs: 1_000, renewEveryMs: 500, statementTimeoutMs: 999 }, null],
    [{ leaseMs: 1_000, renewEveryMs: 501, statementTimeoutMs: 999 }, '/renewEveryMs'],
    [{ leaseMs: 1_000, renewEveryMs: 500, statementTimeoutMs: 1_000 }, '/statementTimeoutMs'],
    [{ workerLostMs: 10_000, heartbeatEveryMs: 5_000, workerSuspectMs: 5_001 }, null],
    [{ workerLostMs: 10_000, heartbeatEveryMs: 5_000, workerSuspectMs: 5_000 }, '/workerSuspectMs'],
    [{ workerLostMs: 10_000, heartbeatEveryMs: 5_000, workerSuspectMs: 10_000 }, '/workerSuspectMs'],
    [{ workerLostMs: 11_000, heartbeatEveryMs: 5_000 }, null],
    [{ workerLostMs: 9_999, heartbeatEveryMs: 5_000 }, '/heartbeatEveryMs'],
  ])('%j: %s', (settings, pointer) => {
    if (pointer === null) engineConfig({ databaseUrl, ...settings })
    else expect(refused({ databaseUrl, ...settings })).toMatchObject({ code: 'CONFIG_INVALID', pointer })
  })
})
