/**
 * The file that says which jobs there should be. All of it is checked before any request to a node, and everything that
 * is wrong is reported at once, each with its line.
 */
import { type ErrorDetail, limits, unknownOption, type WireJobInput } from '@carillon/contract'
import { type Document, isMap, isNode } from 'yaml'
import { UsageError } from '../failure.ts'
import { parseYaml } from '../files.ts'

export type DeclaredJob = WireJobInput & { key: string; managedBy: string }

export interface Manifest {
  managedBy: string
  pools: string[]
  jobs: DeclaredJob[]
  /** Where in the file a JSON pointer leads: `carillon.yaml:12:5`. */
  locate(pointer: string): string
}

const fields = ['managedBy', 'pools', 'jobs']

export type CheckJob = (input: unknown) => readonly ErrorDetail[]

/** `problems`: what is wrong with it by itself. Only without any is it a manifest that may be applied. */
export function parseManifest(
  source: string,
  path: string,
  checkJob: CheckJob,
): { manifest: Manifest; problems: ErrorDetail[] } {
  const { value, document, lines } = parseYaml(source, path)
  const locate = (pointer: string) => {
    const { line, col } = lines.linePos(offsetOf(document, pointer))
    return `${path}:${line}:${col}`
  }
  const problems = check(value, checkJob)
  const { managedBy, pools, jobs } = (isObject(value) ? value : {}) as unknown as Given
  const manifest = {
    managedBy,
    pools: (Array.isArray(pools) ? pools : []).map((pool) => (isObject(pool) ? pool.name : pool) as string),
    jobs: (Array.isArray(jobs) ? jobs : []).map((job) => (isObject(job) ? { ...job, managedBy } : job) as DeclaredJob),
    locate,
  }
  return { manifest, problems }
}

/** What is wrong, each with its line; what two checks found alike is said once. */
export function refuseIfWrong(manifest: Manifest, problems: readonly ErrorDetail[]): void {
  if (problems.length === 0) return
  const places = new Map<string, ErrorDetail>()
  for (const problem of problems) {
    const place = problem.pointer ?? problem.message
    if (!places.has(place)) places.set(place, located(problem, manifest.locate))
  }
  throw new UsageError([...places.values()])
}

/** The file as it is written, if it is right. */
interface Given {
  managedBy: string
  pools?: (string | { name: string })[] | null
  jobs?: WireJobInput[] | null
}

function located({ pointer = '', message, hint }: ErrorDetail, locate: Manifest['locate']): ErrorDetail {
  return { message: `${locate(pointer)} ${pointer || 'the file'} ${message}`, hint }
}

function check(value: unknown, checkJob: CheckJob): ErrorDetail[] {
  if (!isObject(value)) return [{ message: 'holds no jobs', hint: 'It begins with managedBy: and jobs:' }]
  const problems: ErrorDetail[] = []
  for (const field of Object.keys(value)) {
    if (!fields.includes(field)) problems.push(unknownOption(field, fields))
  }
  const { managedBy, pools = [], jobs = [] } = value
  if (!isName(managedBy))
    problems.push({ pointer: '/managedBy', message: 'must be a name', hint: 'It says which jobs belong to this file' })
  for (const [i, pool] of listOf(problems, '/pools', pools).entries()) {
    const name = isObject(pool) ? pool.name : pool
    if (!isName(name) || (isObject(pool) && Object.keys(pool).length > 1))
      problems.push({ pointer: `/pools/${i}`, message: 'must be a name, or an object with a name only' })
  }
  const seen = new Map<string, number>()
  for (const [i, job] of listOf(problems, '/jobs', jobs).entries()) {
    const pointer = `/jobs/${i}`
    problems.push(
      ...checkDeclared(job, checkJob).map((detail) => ({ ...detail, pointer: pointer + (detail.pointer ?? '') })),
    )
    const key = isObject(job) && typeof job.key === 'string' ? job.key : null
    if (key === null) continue
    if (seen.has(key))
      problems.push({ pointer: `${pointer}/key`, message: `${key} is also the key of /jobs/${seen.get(key)}` })
    else seen.set(key, i)
  }
  return problems
}

function checkDeclared(job: unknown, checkJob: CheckJob): ErrorDetail[] {
  if (!isObject(job))
    return [{ message: 'must be a job', hint: 'Such as {key: …, type: CRON, schedule: …, target: …}' }]
  const problems: ErrorDetail[] = []
  if (job.key === undefined)
    problems.push({ pointer: '/key', message: 'key is required', hint: 'It identifies this job' })
  if (job.managedBy !== undefined)
    problems.push({
      pointer: '/managedBy',
      message: 'managedBy is said once, at the top of the file',
      hint: 'Leave it out here',
    })
  if (job.type === 'ONE_SHOT' || job.type === 'DELAYED') {
    problems.push({
      pointer: '/type',
      message: `${job.type} runs once, and applying the file again would run it again`,
      hint: 'Declare CRON and INTERVAL; for the others: carillon jobs create',
    })
  }
  return [...problems, ...checkJob(job)]
}

function listOf(problems: ErrorDetail[], pointer: string, value: unknown): unknown[] {
  if (value === null) return []
  if (Array.isArray(value)) return value
  problems.push({ pointer, message: 'must be a list' })
  return []
}

/** Where in the source a JSON pointer leads, or as near as there is something. */
function offsetOf(document: Document, pointer: string): number {
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === name)
      : null
    if (pair && isNode(pair.key) && pair.key.range) return pair.key.range[0]
    const found = document.getIn(path.slice(0, length), true)
    if (isNode(found) && found.range) return found.range[0]
  }
  return 0
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= limits.nameLength
}
