/** `carillon executions logs`: what a handler logged, at once or as it comes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { HandWorker, type Held, keyOf, Ledger } from '../http/hand-worker.ts'
import { carillon, startCarillon } from './cli.ts'

let on: HttpNode
let ledger: Ledger
let worker: HandWorker

beforeAll(async () => {
  on = await httpNode()
  ledger = new Ledger(on)
  worker = await HandWorker.register(on.url)
})
afterAll(async () => {
  await ledger?.[Symbol.asyncDispose]()
  await on?.[Symbol.asyncDispose]()
})

async function begun(...texts: string[]): Promise<Held> {
  await ledger.enqueue({ policy: { retryPolicy: { maxAttempts: 1 } } })
  const held = keyOf((await worker.lease()).body.executions[0])
  await log(held, 0, ...texts)
  return held
}

const log = (held: Held, from: number, ...texts: string[]) =>
  worker.report({ lines: [{ ...held, from, lines: texts.map((text) => ({ text })) }] })

const logs = (held: Held, ...options: string[]) => ['executions', 'logs', held.executionId, '--url', on.url, ...options]

describe('carillon executions logs', () => {
  it('prints what is there while the handler runs', async () => {
    const held = await begun('one', 'two')
    const plain = await carillon(logs(held))
    expect([plain.exitCode, plain.stdout]).toEqual([0, 'one\ntwo\n'])
    expect((await carillon(logs(held, '--time'))).stdout).toMatch(/^20\S+.* 1 {2}one\n/)
    const [document] = (await carillon(logs(held, '--json'))).json()
    expect(document).toMatchObject({ dropped: 0, lines: [{ attempt: 1, text: 'one' }, { text: 'two' }] })
    await worker.succeed(held)
  })

  it('-f prints lines as they come and ends with the execution', async () => {
    const held = await begun('one')
    const followed = startCarillon(logs(held, '-f'))
    await until(() => followed.output().includes('one'))
    await log(held, 1, 'two')
    await worker.report({ progress: [{ ...held, progress: { rows: 7 } }] })
    await until(() => followed.output().includes('two') && followed.output().includes('progress: {"rows":7}'))
    await worker.succeed(held)
    const { exitCode, stdout, stderr } = await followed.ended
    expect([exitCode, stdout]).toEqual([0, 'one\ntwo\n'])
    expect(stderr).toContain('It has ended: SUCCEEDED')
  })

  it('-f of one that does not succeed has exit code 1, as JSON too', async () => {
    const held = await begun('one')
    const outcome = { ...held, outcome: 'FAILED', error: { name: 'E', message: 'no' }, log: ['one', 'two'] }
    await worker.report({ outcomes: [outcome] })
    const { exitCode, json } = await carillon(logs(held, '--follow', '--json'))
    expect(exitCode).toBe(1)
    expect(json()).toMatchObject([
      { type: 'line', position: 1, text: 'one' },
      { type: 'line', position: 2, text: 'two' },
      { type: 'end', state: 'DEAD' },
    ])
  })

  it('-f leaves when it is interrupted, and the execution goes on', async () => {
    const held = await begun('one')
    const followed = startCarillon(logs(held, '-f'))
    await until(() => followed.output().includes('one'))
    process.kill(followed.child.pid!, 'SIGINT')
    expect((await followed.ended).exitCode).toBe(130)
    expect((await worker.succeed(held)).body.outcomes).toEqual(['ACCEPTED'])
  })
})
