/**
 * Feeds a node what its own OpenAPI document allows, and what it does not, with schemathesis and all of its checks:
 *
 *   npm run schemathesis -- [--requests 10000] [--seed 1] [--examples 100]
 *
 * Passes if no check failed but for what argued.json argues, no answer was a 5xx, every operation was reached, and enough
 * requests were sent: both counted by the node itself, not by the fuzzer. The seed is printed, so that a run can be repeated.
 * The node asks for tokens, so that the checks of authentication have something to check.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { scopes } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { serve } from '@carillon/server'
import { SignJWT } from 'jose'

const root = join(import.meta.dirname, '../..')
const program = join(root, '.cache/python-tools/bin/schemathesis')

const { values } = parseArgs({
  options: {
    requests: { type: 'string' },
    seed: { type: 'string' },
    examples: { type: 'string' },
    phases: { type: 'string' },
  },
})
const wanted = Number(values.requests ?? 10_000)
const seed = Number(values.seed ?? randomInt(1_000_000))

const dataDir = await mkdtemp(join(tmpdir(), 'carillon-fuzz-'))
const jwtSecret = randomBytes(32).toString('hex')
const node = await serve({ dataDir, port: 0, logLevel: 'error', auth: { jwtSecret }, engine: { maxPollMs: 50 } })
const token = await new SignJWT({ tenant: 'default', scopes })
  .setProtectedHeader({ alg: 'HS256' })
  .setExpirationTime('1d')
  .sign(new TextEncoder().encode(jwtSecret))
const authorization = `Bearer ${token}`
let failed = false
try {
  console.log(`Fuzzing ${node.url} with seed ${seed}`)
  execFileSync(join(root, 'scripts/install-client-tools'), { stdio: 'inherit' })
  for (let round = 0; !failed; round++) {
    failed = (await fuzz(seed + round)) !== 0 || !(await fuzzStream())
    const { requests, serverErrors, missing } = await counted()
    console.log(`${requests} requests, ${serverErrors} answered 5xx, seed ${seed} + ${round}`)
    failed ||= serverErrors > 0
    if (requests < wanted) continue
    if (missing.length > 0) console.log(`never reached: ${missing.join(', ')}`)
    failed ||= missing.length > 0
    break
  }
} finally {
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
}
console.log(failed ? `FAILED, repeat with --seed ${seed}` : `passed, seed ${seed}`)
process.exitCode = failed ? 1 : 0

/** One run over every operation: examples, edges of the schemas, random input, and chains of operations. */
function fuzz(seedOfRun: number): Promise<number> {
  const child = spawn(
    program,
    [
      ...['run', `${node.url}/openapi.json`, '--seed', String(seedOfRun), '--no-color', '--continue-on-failure'],
      // hooks.py has these three, without what is argued.
      ...[
        '--checks',
        'all',
        '--exclude-checks',
        'positive_data_acceptance,negative_data_rejection,use_after_free,unsupported_method',
      ],
      ...['--header', `Authorization: ${authorization}`],
      // It waits for the end of every answer, and a stream has none: see fuzzStream.
      ...['--exclude-operation-id', 'streamEvents'],
      ...(values.phases === undefined ? [] : ['--phases', values.phases]),
      ...[
        '--max-examples',
        values.examples ?? '100',
        '--generation-database',
        'none',
        '--suppress-health-check',
        'all',
      ],
    ],
    {
      cwd: dataDir,
      stdio: 'inherit',
      env: { ...process.env, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: import.meta.dirname },
    },
  )
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** The stream of events, asked to end. True: what it takes and what it does not was answered as it should be. */
async function fuzzStream(): Promise<boolean> {
  const types = ['job.*', 'execution.dead', '', '*', 'job.', 'JOB.*', '\u0000', 'x'.repeat(5_000)]
  const queries = [
    ...types.flatMap((type) => [`type=${encodeURIComponent(type)}`, `type=job.*&type=${encodeURIComponent(type)}`]),
    ...[
      '',
      'jobId=',
      'jobId=1',
      'jobId=00000000-0000-0000-0000-000000000000',
      'waitSec=-1',
      'waitSec=x',
      'waitSec=1e9',
      'x=1',
    ],
  ]
  const ids = [undefined, '0', '1', '999999999999999', '9999999999999999', '-1', '1.5', 'x', '']
  let fine = true
  for (const query of queries) {
    for (const id of ids) {
      const url = `${node.url}/v1/events?${query.includes('waitSec') ? query : `${query}&waitSec=0`}`
      const answer = await fetch(url, { headers: { authorization, ...(id !== undefined && { 'last-event-id': id }) } })
      const text = await answer.text()
      const type = answer.headers.get('content-type')
      const expected = answer.status === 200 ? 'text/event-stream' : 'application/problem+json'
      if ((answer.status === 200 || answer.status === 422) && type?.startsWith(expected)) continue
      console.log(`${url} with ${id}: ${answer.status} ${type} ${text}`)
      fine = false
    }
  }
  return fine
}

async function counted(): Promise<{ requests: number; serverErrors: number; missing: string[] }> {
  const text = await (await fetch(`${node.url}/metrics`)).text()
  const counts = [...text.matchAll(/^carillon_http_request_seconds_count\{operation="(\w+)",status="(\d+)"\} (\d+)$/gm)]
  const sum = (rows: RegExpExecArray[]) => rows.reduce((total, [, , , count]) => total + Number(count), 0)
  const reached = new Set(counts.map(([, operation]) => operation))
  return {
    requests: sum(counts),
    serverErrors: sum(counts.filter(([, , status]) => Number(status) >= 500)),
    missing: Object.keys(api).filter((operation) => !reached.has(operation)),
  }
}
