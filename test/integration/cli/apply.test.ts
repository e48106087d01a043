import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { carillon } from './cli.ts'

let node: HttpNode
const folder = mkdtempSync(join(tmpdir(), 'carillon-apply-'))
const file = join(folder, 'carillon.yaml')
const at = () => ({ env: { CARILLON_URL: node.url } })
const apply = (...more: string[]) => carillon(['apply', '-f', file, ...more], at())

beforeAll(async () => {
  node = await httpNode()
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const manifest = `
managedBy: billing
pools: [batch-etl]
jobs:
  - key: invoices
    type: CRON
    schedule: "0 3 * * *"
    timezone: Europe/Berlin
    target: { pool: batch-etl, handler: generate_invoices }
    payload: { dateRange: yesterday }
    retryPolicy: { maxAttempts: 3 }
    labels: { team: billing }
    startAt: 2030-01-31T08:00:00+02:00
  - key: often
    type: INTERVAL
    interval: PT15M
    target: { handler: poll }
`

describe('apply', () => {
  it('declares tenants first, shows what changes of them, and leaves those of nobody alone', async () => {
    await node.ask('PUT /v1/tenants/other', { weight: 7 })
    const declare = (acme: string) => writeFileSync(file, `managedBy: ops\ntenants:\n  - ${acme}\n  - { name: beta }\n`)
    declare('{ name: acme, weight: 3, maxJobs: 10, maxPools: null }')
    const first = await apply('--yes')
    expect(first.stdout).toBe(
      '+ tenant acme  weight 3, maxJobs 10\n+ tenant beta  weight 1\n\n2 to create, 0 to change, 0 to delete, 0 unchanged.\nDone.\n',
    )
    expect((await apply('--yes', '--prune')).stdout).toContain('0 to create, 0 to change, 0 to delete, 2 unchanged.')
    declare('{ name: acme, description: gold }')
    const [plan] = (await apply('--dry-run', '--json')).json()
    expect(plan).toMatchObject({
      changes: [{ action: 'CHANGE', kind: 'tenant', name: 'acme', differences: expect.anything() }],
      unchanged: 1,
    })
    expect(plan.changes[0].differences).toEqual([
      { field: 'weight', from: 3, to: 1 },
      { field: 'description', from: null, to: 'gold' },
      { field: 'maxJobs', from: 10, to: null },
    ])
    expect((await apply('--yes')).stdout).toMatch(
      /~ tenant acme\n +weight +3 -> 1\n +description +null -> "gold"\n +maxJobs +10 -> null\n/,
    )
    expect((await node.ask('GET /v1/tenants')).body.items).toMatchObject([
      { name: 'acme', weight: 1, description: 'gold', version: 2 },
      { name: 'beta', version: 1 },
      { name: 'other', weight: 7 },
    ])

    declare('{ name: acme, jitterSec: 300 }')
    const hourly = `jobs: [{ key: hourly, type: CRON, schedule: "0 * * * *", target: { handler: h } }]`
    expect((await apply('--yes')).stdout).toMatch(/ +jitterSec +null -> 300\n/)
    writeFileSync(file, `managedBy: spread\n${hourly}\n`)
    const asAcme = { 'carillon-tenant': 'acme' }
    for (const unchanged of [0, 1]) {
      const { stdout } = await apply('--yes', '--tenant', 'acme')
      expect(stdout).toContain(`${1 - unchanged} to create, 0 to change, 0 to delete, ${unchanged} unchanged`)
    }
    expect((await node.ask('GET /v1/jobs/hourly', undefined, asAcme)).body).toMatchObject({
      jitterSec: 300,
      version: 1,
    })

    declare('{ name: beta, wieght: 3, weight: 0, maxJob: 1, maxWorkers: -1, submissionsPerSec: 0 }')
    const wrong = await apply('--yes')
    expect(wrong.exitCode).toBe(2)
    for (const line of [
      'carillon.yaml:3:19 /tenants/0/wieght',
      '/tenants/0/weight must be a whole number from 1 to 1000',
      '/tenants/0/maxWorkers must be a whole number from 0 to 1000000000',
      '/tenants/0/submissionsPerSec must be a whole number from 1 to 1000000',
      'maxJobs',
      'beta is also the name of /tenants/0',
    ])
      expect(wrong.stderr).toContain(line)
  })

  it('declares limits before what names them, those of a job after it, and shows what changes of them', async () => {
    const write = (limits: string[], named: string) =>
      writeFileSync(
        file,
        [
          ...['managedBy: limited', 'limits:', ...limits.map((limit) => `  - ${limit}`), 'jobs:'],
          '  - { key: charge, type: CRON, schedule: "0 3 1 1 *", target: { handler: x }, payload: { id: 4 }, limits: [',
          `      "${named}:{payload.id}"]}`,
        ].join('\n'),
      )
    const ofJob = '{ name: one-charge, for: JOB, of: charge, concurrency: 1 }'
    write(['{ name: acct, concurrency: 5, rate: { count: 10, perSec: 60 } }', ofJob], 'acct')
    const first = await apply('--yes')
    expect(first.stdout).toContain(
      '+ limit acct  KEY  concurrency 5  10/60s\n+ limit one-charge  JOB charge  concurrency 1\n+ job charge  ',
    )
    expect(first.stdout).toContain('3 to create, 0 to change, 0 to delete, 0 unchanged.\nDone.\n')
    const { body: job } = await node.ask('GET /v1/jobs/charge')
    expect(job.limits).toEqual(['acct:{payload.id}'])
    expect((await node.ask('GET /v1/limits/one-charge')).body).toMatchObject({ for: 'JOB', of: job.jobId })
    expect((await apply('--yes', '--prune')).stdout).toContain('0 to create, 0 to change, 0 to delete, 3 unchanged.')

    write(['{ name: acct, concurrency: 0 }', ofJob], 'acct')
    const [plan] = (await apply('--dry-run', '--json')).json()
    expect(plan).toMatchObject({ changes: [{ action: 'CHANGE', kind: 'limit', name: 'acct' }], unchanged: 2 })
    expect((await apply('--yes')).stdout).toMatch(/~ limit acct\n +concurrency +5 -> 0\n +rate +\{.*\} -> null\n/)

    write(['{ name: acct, concurency: 5 }', '{ name: "a:b", concurrency: 1 }', ofJob], 'act')
    const wrong = await apply('--yes')
    expect(wrong.exitCode).toBe(2)
    for (const line of ['/limits/0/concurency', '/limits/1/name', '/jobs/0/limits/0 there is no limit act'])
      expect(wrong.stderr).toContain(line)
    await node.ask('DELETE /v1/jobs/charge')
  })

  it('makes it so, changes nothing the second time, shows what changes, and prunes what is its own only', async () => {
    await node.ask('POST /v1/jobs', { key: 'foreign', type: 'INTERVAL', interval: 'PT1H', target: { handler: 'x' } })
    writeFileSync(file, manifest)

    const dry = await apply('--dry-run', '--json')
    expect(dry.json()).toMatchObject([
      { applied: false, changes: [{ kind: 'pool' }, { key: 'invoices' }, { key: 'often' }] },
    ])
    expect((await node.ask('GET /v1/jobs?managedBy=billing')).body.items).toEqual([])

    const first = await apply('--yes')
    expect(first.exitCode).toBe(0)
    expect(first.stdout).toContain('+ pool batch-etl')
    expect(first.stdout).toMatch(/\+ job invoices {2}0 3 \* \* \* Europe\/Berlin {2}generate_invoices @ batch-etl/)
    const again = await apply('--yes')
    expect(again.stdout).toBe('= 2 unchanged\n\n0 to create, 0 to change, 0 to delete, 2 unchanged.\n')

    const [changed] = manifest
      .replace('0 3 *', '0 4 *')
      .replace('maxAttempts: 3', 'maxAttempts: 5')
      .split('  - key: often')
    writeFileSync(file, changed!)
    const kept = await apply()
    expect(kept.stdout).toMatch(
      /~ job invoices\n +schedule +"0 3 \* \* \*" -> "0 4 \* \* \*"\n +retryPolicy.maxAttempts +3 -> 5\n/,
    )
    expect(kept.stdout).toContain('! job often is not in the file and stays')
    expect(kept).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
    const pruned = await apply('--yes', '--prune')
    expect(pruned.stdout).toContain('- job often')
    const keys = (await node.ask('GET /v1/jobs')).body.items.map(({ key }: { key: string }) => key)
    expect(keys.sort()).toEqual(['foreign', 'invoices'])
  })

  it('refuses a file that is wrong, all of it at once, with lines and columns, before anything is done', async () => {
    writeFileSync(
      file,
      'managedBy: x\njobs:\n  - key: a\n    type: CRON\n    schedule: "61 * * * *"\n    target: {handler: h}\n  - key: a\n    type: ONE_SHOT\n    target: {handler: h}\n',
    )
    const { exitCode, stdout, stderr } = await apply('--yes')
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(`${file}:5:5 /jobs/0/schedule`)
    expect(stderr).toContain(`${file}:8:5 /jobs/1/type`)
    expect(stderr).toContain(`${file}:7:5 /jobs/1/key`)
    expect((await node.ask('GET /v1/jobs?managedBy=x')).body.items).toEqual([])
  })

  it('names a pool that is not there with its place in the file', async () => {
    writeFileSync(
      file,
      'managedBy: x\njobs:\n  - {key: a, type: INTERVAL, interval: PT1H, target: {pool: batch-elt, handler: h}}\n',
    )
    const { exitCode, stderr } = await apply('--yes')
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`${file}:3:`)
    expect(stderr).toContain('there is no pool batch-elt')
  })
})

describe('apply, of what depends on each other', () => {
  const chain = `
managedBy: chain
jobs:
  - { key: third, type: AFTER, after: { job: second, on: ENDED }, target: { handler: h } }
  - { key: second, type: AFTER, after: { job: first }, target: { handler: h } }
  - { key: first, type: CRON, schedule: "0 3 * * *", target: { dag: load } }
dags:
  - key: outer
    steps: [{ name: s, target: { dag: load } }]
  - key: load
    steps: [{ name: s, target: { handler: h } }]
`

  it('creates first what the others name, in whatever order the file has them', async () => {
    writeFileSync(file, chain)
    const first = await apply('--yes')
    expect(first).toMatchObject({ exitCode: 0, stderr: '' })
    expect(first.stdout).toMatch(/\+ job third {2}after second \(ENDED\) {2}h/)
    expect((await apply('--yes')).stdout).toBe('= 5 unchanged\n\n0 to create, 0 to change, 0 to delete, 5 unchanged.\n')
    writeFileSync(file, chain.replace('after: { job: first }', 'after: { job: first, on: FAILED }'))
    expect((await apply('--yes')).stdout).toMatch(/~ job second\n +after.on +"SUCCEEDED" -> "FAILED"\n/)
    writeFileSync(file, 'managedBy: chain\n')
    expect((await apply('--yes', '--prune')).exitCode).toBe(0)
  })

  it('refuses jobs that follow each other for ever, or what is nowhere, before anything is done', async () => {
    writeFileSync(
      file,
      chain
        .replace('type: CRON, schedule: "0 3 * * *",', 'type: AFTER, after: { job: third },')
        .replace('- key: load', '- key: lode'),
    )
    const { exitCode, stderr } = await apply('--yes')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('the jobs would follow each other for ever: third after second after first after third')
    expect(stderr).toContain('there is no graph load')
    expect((await node.ask('GET /v1/jobs?managedBy=chain')).body.items).toEqual([])
  })
})

describe('apply, of graphs', () => {
  const dags = `
managedBy: reports
pools: [reports]
dags:
  - key: nightly
    deadlineSec: 600
    steps:
      - { name: extract, target: { pool: reports, handler: extract } }
      - { name: load, target: { handler: load }, dependsOn: [extract] }
  - key: weekly
    steps: [{ name: sum, target: { handler: sum } }]
`

  it('makes it so, changes nothing the second time, shows what changes, and prunes what is its own only', async () => {
    await node.ask('POST /v1/dags', { key: 'of-others', steps: [{ name: 's', target: { handler: 'h' } }] })
    writeFileSync(file, dags)
    const first = await apply('--yes')
    expect(first).toMatchObject({ exitCode: 0 })
    expect(first.stdout).toContain('+ graph nightly  2 steps\n+ graph weekly  1 step\n')
    expect((await apply('--yes')).stdout).toBe('= 2 unchanged\n\n0 to create, 0 to change, 0 to delete, 2 unchanged.\n')

    const [changed] = dags.replace('dependsOn: [extract]', 'runIf: ALL_DONE').split('  - key: weekly')
    writeFileSync(file, changed!)
    const dry = await apply('--dry-run')
    expect(dry.stdout).toMatch(/~ graph nightly\n +steps.load.runIf +"ALL_SUCCEEDED" -> "ALL_DONE"\n/)
    expect(dry.stdout).toMatch(/ +steps.load.dependsOn +\["extract"\] -> \[\]\n/)
    expect(dry.stdout).toContain('! graph weekly is not in the file and stays')
    const pruned = await apply('--yes', '--prune', '--json')
    expect(pruned.json()).toMatchObject([
      {
        changes: [
          { action: 'CHANGE', kind: 'graph', key: 'nightly' },
          { action: 'DELETE', kind: 'graph', key: 'weekly' },
        ],
      },
    ])
    const { items } = (await node.ask('GET /v1/dags')).body
    expect(items).toMatchObject([
      { key: 'nightly', version: 2, managedBy: 'reports' },
      { key: 'of-others', version: 1 },
    ])
    writeFileSync(file, 'managedBy: reports\n')
    expect((await apply('--yes', '--prune')).stdout).toContain('- graph nightly')
  })

  it('reports all that is wrong, with the line of each, before anything is done', async () => {
    writeFileSync(
      file,
      `managedBy: wrong
dags:
  - key: cycle
    steps:
      - { name: a, target: { handler: h }, dependsOn: [b] }
      - { name: b, target: { handler: h, pool: nowhere }, dependsOn: [a] }
  - steps: [{ name: a, target: { handler: h } }]
  - key: twice
    managedBy: me
    steps: [{ name: a, target: { handler: h }, timeoutSec: -1 }]
  - key: twice
    steps: nothing
`,
    )
    const { exitCode, stderr } = await apply('--yes')
    expect(exitCode).toBe(2)
    for (const expected of [
      /:5:\d+ \/dags\/0\/steps\/0\/dependsOn\/0 the steps depend on each other in a cycle: a -> b -> a/,
      /:6:\d+ \/dags\/0\/steps\/1\/target\/pool .*nowhere/,
      /\/dags\/1\/key key is required/,
      /:9:\d+ \/dags\/2\/managedBy managedBy is said once/,
      /:10:\d+ \/dags\/2\/steps\/0\/timeoutSec/,
      /:11:\d+ \/dags\/3\/key twice is also the key of \/dags\/2/,
      /:12:\d+ \/dags\/3\/steps/,
    ])
      expect(stderr).toMatch(expected)
  })
})
