/** Rules of style that no linter knows, each a function from files to offences. */
import { posix } from 'node:path'
import { isTest, lineAt, linesWith, type SourceFile, stemOf, withoutTexts } from './source-tree.ts'

export interface Offence {
  /** file:line */
  at: string
  what: string
}

const maxLines = 400

/** Files that were longer when the rule came, with the length they may not exceed. They may only shrink. */
export const marks: Record<string, number> = {}

/** A file that is read from top to bottom is understood; one that is searched is not. */
export function fileSizes(files: readonly SourceFile[], marked = marks): Offence[] {
  const offences = files.flatMap(({ path, text }): Offence[] => {
    const lines = text.split('\n').length - 1
    const mark = marked[path]
    if (mark === undefined && lines > maxLines) return [{ at: `${path}:${lines}`, what: `more than ${maxLines} lines` }]
    if (mark !== undefined && lines > mark) return [{ at: `${path}:${lines}`, what: `grew past its mark, ${mark}` }]
    if (mark !== undefined && lines <= maxLines) return [{ at: `${path}:1`, what: 'needs no mark any more: remove it' }]
    return []
  })
  const gone = Object.keys(marked).filter((path) => !files.some((file) => file.path === path))
  return [...offences, ...gone.map((path) => ({ at: `${path}:1`, what: 'has a mark but does not exist' }))]
}

interface Ban {
  pattern: RegExp
  why: string
  /** Where it may stand. */
  but: (file: SourceFile) => boolean
}

const shipped =
  (...paths: string[]) =>
  (file: SourceFile) =>
    isTest(file) || paths.some((p) => file.path.startsWith(p))

export const bans: Record<string, Ban> = {
  'the wall clock': {
    pattern: /\bDate\.now\(\)|\bnew Date\(\)/,
    why: 'time is injected: tests and simulation set it, and one clock, PostgreSQL, is right',
    but: shipped(
      'packages/server/src/lib/clock.ts',
      'packages/sdk/src/clock.ts',
      'packages/dashboard/src/lib/clock.ts',
    ),
  },
  'process.env': {
    pattern: /\bprocess\.env\b/,
    why: 'settings are read once, checked and frozen, in config/',
    but: shipped('packages/server/src/config/'),
  },
  console: {
    pattern: /\bconsole\./,
    why: 'what is worth saying goes to the logger, with fields',
    but: (file) =>
      !file.path.startsWith('packages/') ||
      ['packages/sdk/src/console-logger.ts', 'packages/sdk/src/worker/testing/throughput.ts'].includes(file.path),
  },
  'a bare connection': {
    pattern: /\bnew (pg\.)?(Client|Pool)\(/,
    why: 'PostgresClient listens for errors from its birth and names them; Database pools it',
    but: (file) =>
      !file.path.startsWith('packages/server/src/') ||
      isTest(file) ||
      ['packages/server/src/store/database.ts', 'packages/server/src/lib/postgres-client.ts'].includes(file.path),
  },
  debugger: { pattern: /\bdebugger\b/, why: 'left over', but: () => false },
  'a test that runs alone': {
    pattern: /\.only\(/,
    why: 'it hides all the others',
    but: (file) => !/\.(test|test-support)\.tsx?$/.test(file.path) && !file.path.startsWith('test/'),
  },
}

export function banned(files: readonly SourceFile[]): Offence[] {
  return Object.entries(bans).flatMap(([what, { pattern, why, but }]) =>
    files
      .filter((file) => !but(file))
      .flatMap((file) =>
        linesWith(file.code, pattern).map((line) => ({ at: `${file.path}:${line}`, what: `${what}: ${why}` })),
      ),
  )
}

/** `query('name', text` and helpers like it: a name in quotes, then the text or a constant that holds it. */
const namedStatement =
  /\b(?:query|read)(?:<[^;]*?>)?\(\s*'([a-z][a-z0-9-]*)',\s*(\w+)?|\bname: '([a-z][a-z0-9-]*)',\s*text: (\w+)?/g

/** PostgreSQL keeps a prepared statement per connection: two texts under one name fail on some connections, not on others. */
export function statementNames(files: readonly SourceFile[]): Offence[] {
  const first = new Map<string, { at: string; text: string }>()
  return files
    .filter((file) => file.path.startsWith('packages/server/src/') && !isTest(file))
    .flatMap((file) =>
      [...file.code.matchAll(namedStatement)].flatMap((match): Offence[] => {
        const name = match[1] ?? match[3]!
        const at = `${file.path}:${lineAt(file.code, match.index)}`
        const text = match[2] ?? match[4] ?? at
        const known = first.get(name)
        first.set(name, known ?? { at, text })
        return known === undefined || known.text === text
          ? []
          : [{ at, what: `${known.at} has a prepared statement of the name ${name} too: one name, one text` }]
      }),
    )
}

/** Names in snake_case that others gave: settings of PostgreSQL and of its driver, keys of a JWK, answers of etcd. */
const foreignNames = new Set([
  'create_revision',
  'cluster_id',
  'application_name',
  'default_transaction_read_only',
  'key_ops',
])
/** It has settings of PostgreSQL, by their names. */
const settingsFile = 'packages/server/src/testing/server.ts'

/** Rows do not leave the store: it maps them, so that a renamed column concerns nobody else. */
export function columnNames(files: readonly SourceFile[]): Offence[] {
  return files
    .filter(({ path }) => path.startsWith('packages/server/src/') && path.endsWith('.ts'))
    .filter((file) => !shipped('packages/server/src/store/', settingsFile)(file))
    .flatMap(({ path, code }) => {
      const bare = withoutTexts(code)
      return [...bare.matchAll(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g)]
        .filter(([name]) => !foreignNames.has(name))
        .map(({ 0: name, index }) => ({
          at: `${path}:${lineAt(bare, index)}`,
          what: `${name} is the name of a column: the store maps rows to the words of the domain`,
        }))
    })
}

const leftover = /\b(TODO|FIXME|XXX)\b/

/** What is still to be done is an issue or is done; a note in the code is neither. */
export function leftovers(files: readonly SourceFile[]): Offence[] {
  return files.flatMap(({ path, text }) =>
    linesWith(text, leftover).map((line) => ({ at: `${path}:${line}`, what: 'a note left over: do it or file it' })),
  )
}

const vague = /\b(whoever|somebody)\b/i

/** What we ship names the thing that acts: a worker, a caller, another transaction. Applied migrations stay as they are. */
export function vagueWords(files: readonly SourceFile[]): Offence[] {
  return files
    .filter((file) => file.path.startsWith('packages/') && !file.path.includes('/migrations/') && !isTest(file))
    .flatMap(({ path, text }) =>
      linesWith(text, vague).map((line) => ({ at: `${path}:${line}`, what: 'a vague word: name who or what acts' })),
    )
}

/**
 * A lock inside LATERAL on partitions of a range: once a row has changed while it was waited for, PostgreSQL 18 leaves out all that come
 * after it, without an error. `= any (…) order by …` locks the same rows.
 */
export function lateralLocks(files: readonly SourceFile[]): Offence[] {
  const pattern = /lateral\s*\(\s*select\b[^()]*\bbetween\b[^()]*\bfor\s+(no\s+key\s+)?(update|share)/gi
  return files
    .filter(({ path }) => path.includes('/store/') && !path.includes('/migrations/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(({ index }) => ({
        at: `${path}:${lineAt(text, index)}`,
        what: 'a lock inside LATERAL on a range of partitions',
      })),
    )
}

/** A test that is skipped says why, in a comment on its line or the one above. */
export function skips(files: readonly SourceFile[]): Offence[] {
  return files.flatMap(({ path, text, code }) => {
    const lines = text.split('\n')
    const explained = (line: number) => [lines[line - 1], lines[line - 2]].some((text) => text?.includes('//'))
    return linesWith(code, /\b(it|test|describe)\.skip\(/)
      .filter((line) => !explained(line))
      .map((line) => ({ at: `${path}:${line}`, what: 'skipped without a reason' }))
  })
}

const noRooms = new Set(['utils', 'util', 'helpers', 'types', 'classes', 'misc', 'common'])

/** Names say what a thing is for: to people, and in the same way on every file system. */
export function names(files: readonly SourceFile[]): Offence[] {
  return files.flatMap(({ path }): Offence[] => {
    const at = `${path}:1`
    const stem = stemOf(path)
    const folder = posix
      .dirname(path)
      .split('/')
      .find((name) => noRooms.has(name))
    const form = path.endsWith('.sql')
      ? /^[a-z0-9]+(_[a-z0-9]+)*$/
      : /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|test-support|config|d))?$/
    return [
      ...(folder === undefined ? [] : [{ at, what: `${folder} says how code looks, not what it does` }]),
      ...(form.test(stem)
        ? []
        : [{ at, what: path.endsWith('.sql') ? 'SQL is named snake_case' : 'files are named kebab-case' }]),
      ...(/[-_.]v\d|[a-z]\d+$|[-_]old$/.test(stem.replace(/\.(test|test-support)$/, ''))
        ? [{ at, what: 'a version in a file name: history is in git' }]
        : []),
    ]
  })
}
