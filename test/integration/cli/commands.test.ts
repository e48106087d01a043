/** The everyday commands, against a node with a worker. */
import { createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { carillon } from './cli.ts'

let node: HttpNode
let worker: Worker
const at = () => ({ env: { CARILLON_URL: node.url } })
const greet = defineHandler<{ name: string }>({ name: 'greet' })

beforeAll(async () => {
  node = await httpNode({ targets: { secrets: ['env:COMMANDS_TEST_*'] } })
  const greeting = implementHandler(greet, (ctx) => {
    ctx.log(`\u001b[31mred\u001b[0m ${ctx.payload.name}`)
    if (ctx.payload.name === 'nobody') throw new Error('there is nobody')
    return `Hello ${ctx.payload.name}`
  })
  worker = createWorker({ urls: node.url, handlers: [greeting] })
  await worker.start()
})
afterAll(async () => {
  await worker.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

describe('jobs', () => {
  it('lists none, creates one, shows it, pauses it, tells when it fires, deletes it', async () => {
    const none = await carillon(['jobs', 'list', '--key', 'nightly'], at())
    expect(none).toMatchObject({ exitCode: 0, stdout: '' })
    expect(none.stderr).toContain('No jobs.')

    const flags = ['--key', 'nightly', '--handler', 'greet', '--cron', '0 3 * * *', '--timezone', 'Europe/Berlin']
    const created = await carillon(['jobs', 'create', ...flags, '--payload', '{"name":"Ada"}', '--json'], at())
    expect(created.exitCode).toBe(0)
    expect(created.json()).toMatchObject([{ key: 'nightly', state: 'ACTIVE', payload: { name: 'Ada' } }])

    const [list, shown, next] = await Promise.all([
      carillon(['jobs', 'list'], at()),
      carillon(['jobs', 'get', 'nightly'], at()),
      carillon(['jobs', 'next', 'nightly', '--count', '2', '--json'], at()),
    ])
    expect(list.stdout).toMatch(/nightly +nightly +ACTIVE +0 3 \* \* \* Europe\/Berlin +greet +\d{4}-/)
    expect(shown.stdout).toContain('0 3 * * * Europe/Berlin')
    expect(next.json()[0].fires).toHaveLength(2)

    const paused = await carillon(['jobs', 'pause', 'nightly'], at())
    expect(paused.stdout).toContain('nightly is PAUSED')
    expect(await carillon(['jobs', 'delete', 'nightly'], at())).toMatchObject({ exitCode: 0 })
    expect(await carillon(['jobs', 'get', 'nightly'], at())).toMatchObject({ exitCode: 1, stdout: '' })
  })

  it('finds one by a part of its handler, and says what each version changed and who did it', async () => {
    const create = (cron: string) => {
      const flags = ['--key', 'versioned', '--handler', 'greet-Versions', '--cron', cron, '--payload', '{"name":"Ada"}']
      return carillon(['jobs', 'create', ...flags], at())
    }
    await create('0 3 * * *')
    await create('0 4 * * *')
    const found = await carillon(['jobs', 'list', '--search', 'T-VERSIONS', '--json'], at())
    expect(found.json()).toMatchObject([{ key: 'versioned', version: 2 }])
    const { stdout, exitCode } = await carillon(['jobs', 'versions', 'versioned'], at())
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(
      /^version 2 .* by anonymous, holds now\n +schedule +"0 3 \* \* \*" -> "0 4 \* \* \*"\nversion 1 .*\n +as it was created\n$/,
    )
    const json = (await carillon(['jobs', 'versions', 'versioned', '--json'], at())).json()
    expect(json.map(({ version }) => version)).toEqual([2, 1])
    const one = await carillon(['jobs', 'versions', 'versioned', '--limit', '1'], at())
    expect(one.stdout).toContain('"0 3 * * *" -> "0 4 * * *"')
    expect(one.stderr).toContain('There are more')
  })

  it('takes a reference for a URL that is a secret', async () => {
    const flags = ['--key', 'hook', '--cron', '0 3 * * *', '--http']
    const refused = await carillon(['jobs', 'create', ...flags, 'env:PATH'], at())
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toContain('env:PATH is not allowed')
    const created = await carillon(['jobs', 'create', ...flags, 'env:COMMANDS_TEST_HOOK', '--json'], at())
    expect(created.json()).toMatchObject([{ target: { http: { url: { secretRef: 'env:COMMANDS_TEST_HOOK' } } } }])
    expect((await carillon(['jobs', 'get', 'hook'], at())).stdout).toContain('POST env:COMMANDS_TEST_HOOK')
    const input =
      'managedBy: hooks\njobs:\n  - key: hook\n    type: CRON\n    schedule: "0 3 * * *"\n    target: { http: { url: { secretRef: "env:COMMANDS_TEST_HOOK" } } }\n'
    const claimed = await carillon(['apply', '-f', '-', '--yes'], { ...at(), input })
    expect(claimed.exitCode).toBe(0)
    const again = await carillon(['apply', '-f', '-', '--yes'], { ...at(), input })
    expect(again.stdout).toContain('1 unchanged')
  })

  it('takes a definition from stdin, and one that is wrong is refused with what to do', async () => {
    const input = 'key: from-file\ntype: INTERVAL\ninterval: PT1H\ntarget: {handler: greet}\n'
    expect(await carillon(['jobs', 'create', '-f', '-'], { ...at(), input })).toMatchObject({ exitCode: 0 })
    const wrong = await carillon(['jobs', 'create', '-f', '-'], { ...at(), input: input.replace('PT1H', 'PT1X') })
    expect(wrong).toMatchObject({ exitCode: 1, stdout: '' })
    expect(wrong.stderr).toMatch(/^error: .*\/interval .*SCHEDULE_INVALID/)
  })
})

describe('executions', () => {
  it('runs one now, waits for it, shows its log without what would steer the terminal', async () => {
    const args = ['jobs', 'create', '--handler', 'greet', '--payload', '{"name":"Ada"}', '--json']
    const [{ jobId }] = (await carillon(args, at())).json()
    const waited = await carillon(['executions', 'wait', jobId, '--timeout', '20s', '--json'], at())
    expect(waited.exitCode).toBe(0)
    expect(waited.json()).toMatchObject([{ state: 'SUCCEEDED', result: 'Hello Ada' }])
    const [logs, list] = await Promise.all([
      carillon(['executions', 'logs', jobId], at()),
      carillon(['executions', 'list', '--state', 'SUCCEEDED', '--from', '1h', '--json'], at()),
    ])
    expect(logs.stdout).toBe('red Ada\n')
    expect(list.json().map(({ executionId }) => executionId)).toContain(jobId)
  })

  it('what fails ends with 1, is found among the dead letters, and can be replayed by filter', async () => {
    const input = 'type: ONE_SHOT\ntarget: {handler: greet}\npayload: {name: nobody}\nretryPolicy: {maxAttempts: 1}\n'
    const created = await carillon(['jobs', 'create', '-f', '-', '--json'], { ...at(), input })
    const [{ jobId }] = created.json()
    const waited = await carillon(['executions', 'wait', jobId, '--timeout', '20s'], at())
    expect(waited.exitCode).toBe(1)
    expect(waited.stdout).toContain('Error: there is nobody')
    const letters = await carillon(['dead-letters', 'list'], at())
    expect(letters.stdout).toContain(jobId)

    const unasked = await carillon(['dead-letters', 'replay', '--handler', 'greet'], at())
    expect(unasked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
    const dry = await carillon(['dead-letters', 'replay', '--handler', 'greet', '--dry-run', '--json'], at())
    expect(dry.json()).toMatchObject([{ count: 1 }])
    const replayed = await carillon(['dead-letters', 'replay', '--handler', 'greet', '--yes', '--json'], at())
    expect(replayed.json()).toMatchObject([{ kind: 'RETRY', state: 'SUCCEEDED', done: 1 }])
  })
})

describe('copies', () => {
  it('count first, ask, and say how many were made; the pool must exist', async () => {
    const args = ['jobs', 'create', '--handler', 'greet', '--payload', '{"name":"Bo"}', '--json']
    const [{ jobId }] = (await carillon([...args, '--label', 'of=copies'], at())).json()
    await carillon(['executions', 'wait', jobId, '--timeout', '20s'], at())
    await carillon(['pools', 'create', 'staging'], at())
    const copy = (...more: string[]) => carillon(['executions', 'copy', ...more], at())
    const chosen = ['--from', '1h', '--label', 'of=copies', '--from-pool', 'default']
    const [unsaid, unfiltered, unknown, unasked, dry] = await Promise.all([
      copy(...chosen),
      copy('--pool', 'staging'),
      copy('--pool', 'stagin', ...chosen),
      copy('--pool', 'staging', ...chosen),
      copy('--pool', 'staging', ...chosen, '--dry-run'),
    ])
    expect(unsaid).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--pool') })
    expect(unfiltered).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('which ones should I copy?') })
    expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Did you mean staging?') })
    expect(unasked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
    expect(dry).toMatchObject({ exitCode: 0, stdout: '1 would be copied\n' })
    const copied = await copy('--pool', 'staging', ...chosen, '--rate', '100', '--yes')
    expect(copied).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^SUCCEEDED {2}1 copied in /) })
    const found = await carillon(['executions', 'list', '--label', `copiedFrom=${jobId}`, '--json'], at())
    expect(found.json()).toMatchObject([{ pool: 'staging', state: 'PENDING', origin: 'SUBMIT' }])
  })
})

describe('the rest', () => {
  it('pools and workers', async () => {
    const [created, workers] = await Promise.all([
      carillon(['pools', 'create', 'etl', '--json'], at()),
      carillon(['workers', 'list', '--json'], at()),
    ])
    expect(created.json()).toMatchObject([{ name: 'etl', paused: false }])
    expect(workers.json().some(({ workerId }) => workerId === worker.workerId)).toBe(true)
    const one = await carillon(['workers', 'get', worker.workerId, '--json'], at())
    expect(one.json()).toMatchObject([{ workerId: worker.workerId, held: expect.any(Array), complete: true }])
    expect((await carillon(['workers', 'get', worker.workerId], at())).stdout).toContain(worker.workerId)
    const [paused, scaling] = await Promise.all([
      carillon(['pools', 'pause', 'etl'], at()),
      carillon(['pools', 'scaling', 'default', '--json'], at()),
    ])
    expect(paused.stdout).toBe('Pool etl is PAUSED\n')
    expect(scaling.json()).toMatchObject([{ name: 'default', ready: 0 }])
  })

  it('tenants', async () => {
    const quotas = ['--max-jobs', '10', '--submissions-per-sec', '5', '--max-idempotency-keys', '0']
    const put = await carillon(['tenants', 'put', 'acme', '--weight', '3', ...quotas, '--json'], at())
    const declared = { maxJobs: 10, submissionsPerSec: 5, maxIdempotencyKeys: 0, maxPools: null }
    expect(put.json()).toMatchObject([{ name: 'acme', weight: 3, version: 1, ...declared }])
    const [old, wrong, listed] = await Promise.all([
      carillon(['tenants', 'put', 'acme', '--weight', '4', '--if-version', '9'], at()),
      carillon(['tenants', 'put', 'acme', '--weight', 'much'], at()),
      carillon(['tenants', 'list'], at()),
    ])
    expect(old).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('VERSION_MISMATCH') })
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Give a whole number') })
    expect(listed.stdout).toMatch(/acme +3 +maxJobs 10, submissionsPerSec 5, maxIdempotencyKeys 0 /)
    expect((await carillon(['tenants', 'get', 'acme'], at())).stdout).toMatch(/weight +3\n(?:.*\n)*maxJobs +10\n/)
    const [used] = (await carillon(['tenants', 'usage', 'acme', '--from', '90d', '--by-pool', '--json'], at())).json()
    expect(used).toMatchObject({ tenant: 'acme', days: [], total: { ended: 0 } })
    expect((await carillon(['usage'], at())).stdout).toMatch(/^default: .* counted until/)
    expect((await carillon(['tenants', 'delete', 'acme'], at())).stdout).toBe('Tenant acme is not declared any more\n')
    expect(await carillon(['tenants', 'get', 'acme'], at())).toMatchObject({ exitCode: 1 })
  })

  it('limits', async () => {
    const put = await carillon(['limits', 'put', 'acct', '--concurrency', '5', '--rate', '100/m', '--json'], at())
    expect(put.json()).toMatchObject([{ name: 'acct', for: 'KEY', concurrency: 5, rate: { count: 100, perSec: 60 } }])
    const mail = ['limits', 'put', 'mail', '--for', 'handler', '--of', 'send-email', '--concurrency', '0']
    expect((await carillon(mail, at())).stdout).toMatch(/for +HANDLER\nof +send-email\nconcurrency +0\n/)
    const [old, wrong, unlimited, listed] = await Promise.all([
      carillon(['limits', 'put', 'acct', '--concurrency', '4', '--if-version', '9'], at()),
      carillon(['limits', 'put', 'acct', '--rate', '100'], at()),
      carillon(['limits', 'put', 'acct'], at()),
      carillon(['limits', 'list'], at()),
    ])
    expect(old).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('VERSION_MISMATCH') })
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('such as 100/10s') })
    expect(unlimited).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('concurrency or rate') })
    expect(listed.stdout).toMatch(/acct +KEY +5 +100\/60s/)
    expect((await carillon(['limits', 'get', 'acct'], at())).stdout).toMatch(/rate +100\/60s/)
    expect((await carillon(['limits', 'delete', 'acct'], at())).stdout).toBe('Limit acct deleted\n')
    expect(await carillon(['limits', 'get', 'acct'], at())).toMatchObject({ exitCode: 1 })
  })

  it('says by its exit code what went wrong, in one line and without a stack', async () => {
    const cases: [string[], number, RegExp][] = [
      [['executions', 'get', '01900000-0000-7000-8000-000000000000'], 1, /EXECUTION_NOT_FOUND/],
      [['jobs', 'list', '--stat', 'ACTIVE'], 2, /unknown option '--stat'.*--state/],
      [['jobs', 'lst'], 2, /unknown command 'lst'.*list/],
      [['jobs', 'create', '--cron', '0 3 * * *', '--every', 'PT1H', '--handler', 'x'], 2, /cannot be used with/],
      [['jobs', 'list', '--url', 'http://127.0.0.1:1'], 3, /Is a node running there/],
      [['doctor', '--database-url', 'postgres://127.0.0.1:1/x'], 3, /Cannot connect/],
    ]
    const ended = await Promise.all(cases.map(([args]) => carillon(args, at())))
    for (const [i, [, exitCode, message]] of cases.entries()) {
      expect(ended[i]).toMatchObject({ exitCode, stdout: '', stderr: expect.stringMatching(message) })
      expect(ended[i]!.stderr.trim().split('\n')).toHaveLength(1)
    }
  })

  it('with --json an error is one JSON line on stderr, and stdout stays empty', async () => {
    const { exitCode, stdout, stderr } = await carillon(['jobs', 'get', 'nothing', '--json'], at())
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ code: 'JOB_NOT_FOUND', errors: [{ message: expect.any(String) }] })
  })
})
