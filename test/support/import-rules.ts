/**
 * Who may import whom. Data moves one way through the server, and so do imports: a folder may use what is below it.
 * The folders in the middle do not import each other; they meet in the store, so each can be read, tested and replaced
 * alone.
 */
import { posix } from 'node:path'
import { importsOf, isTest, type SourceFile } from './source-tree.ts'
import type { Offence } from './tidy-rules.ts'

const foundation = ['lib', 'domain']
const seams = ['leadership', 'due-source', 'queue', 'signals', 'liveness', 'status-reads']
const middle = ['scheduling', 'admission', 'dispatch', 'completion', 'upkeep', 'jobs']
/** Services shared by the entry points: each combines folders of the middle. */
const services = [
  ...[
    'workers',
    'submissions',
    'executions',
    'dags',
    'operations',
    'events',
    'verification',
    'quarantine',
    'forecast',
    'stats',
  ],
]
const belowMiddle = [...foundation, 'store', ...seams, 'observability']
/** What a seam may use: the store, and the connection that its version in Redis shares with the others. */
const belowSeams = [...foundation, 'store', 'observability', 'redis']

/** What a folder (or file) of packages/server/src may import besides itself, and why no more. */
export const serverRules: Record<string, { may: string[]; why: string }> = {
  lib: { may: [], why: 'it knows nothing of scheduling' },
  domain: { may: [], why: 'rules are pure: no I/O and no clock, so that they can be tried by the thousand' },
  observability: { may: foundation, why: 'every folder logs, so it may depend on none' },
  config: { may: foundation, why: 'settings are read before anything else is there' },
  'embedded.ts': { may: [], why: 'the one place that loads a package which may be missing' },
  store: { may: [...foundation, 'observability'], why: 'the store does not depend on its callers' },
  redis: { may: ['lib', 'observability'], why: 'a connection knows nothing of what it is used for' },
  kafka: { may: ['lib', 'observability'], why: 'a client knows nothing of what it is used for' },
  signals: { may: belowSeams, why: 'a seam answers one question' },
  leadership: {
    may: [...foundation, 'store', 'observability', 'keep-alive'],
    why: 'a seam answers one question; main.ts signals its changes',
  },
  'due-source': { may: belowSeams, why: 'a seam answers one question' },
  queue: { may: [...foundation, 'store', 'observability', 'kafka'], why: 'a seam answers one question' },
  liveness: { may: [...belowSeams, 'keep-alive'], why: 'a seam answers one question' },
  'status-reads': { may: belowSeams, why: 'a seam answers one question' },
  'keep-alive': { may: [...foundation, 'store', 'observability'], why: 'it goes on while everything else is busy' },
  ...Object.fromEntries(
    middle.map((folder) => [
      folder,
      { may: belowMiddle, why: 'the middle folders meet in the store, not in each other' },
    ]),
  ),
  targets: {
    may: [...belowMiddle, 'config', 'kafka'],
    why: 'built-in handlers are ordinary handlers of a worker; the operator’s settings limit what they may do',
  },
  workers: { may: [...belowMiddle, 'dispatch', 'completion'], why: 'it gives workers what dispatch and completion do' },
  submissions: { may: [...belowMiddle, 'admission', 'jobs'], why: 'now is admission, later is a job: it chooses' },
  executions: { may: [...belowMiddle, 'jobs'], why: 'what is to come is still a job' },
  dags: {
    may: [...belowMiddle, 'jobs', 'executions'],
    why: 'a step is asked for as a submission is, and runs and is shown as an execution',
  },
  events: { may: [...belowMiddle, 'kafka'], why: 'it streams what the store has recorded' },
  verification: { may: belowMiddle, why: 'it judges what is stored by the rules alone' },
  forecast: { may: belowMiddle, why: 'it computes what is to come by the rules alone' },
  operations: {
    may: [...belowMiddle, 'jobs', 'executions'],
    why: 'long work chooses executions as lists do, and asks jobs for their occurrences',
  },
  stats: { may: belowMiddle, why: 'it counts what the others tell it' },
  quarantine: {
    may: [...belowMiddle, 'jobs'],
    why: 'a schedule goes back by resuming its job, everything else by itself',
  },
  http: {
    may: [...belowMiddle, ...middle, ...services, 'config', 'targets'],
    why: 'it is one way in; it does not know how a node is put together',
  },
  'choose-seams.ts': {
    may: [...foundation, 'store', ...seams, 'observability', 'config', 'keep-alive', 'redis', 'kafka'],
    why: 'the part of the composition root that knows the versions of the seams',
  },
  'engine-parts.ts': {
    may: [...foundation, 'store', 'observability', 'keep-alive', 'choose-seams.ts'],
    why: 'names the parts of an engine that tests and simulation replace',
  },
  'installation-duties.ts': {
    may: [...foundation, 'store', 'observability', 'config', 'upkeep', ...services],
    why: 'the part of the composition root that knows the duties',
  },
  'main.ts': {
    may: [
      ...[...belowMiddle, ...middle, ...services, 'config', 'keep-alive', 'targets', 'http'],
      ...['choose-seams.ts', 'engine-parts.ts', 'installation-duties.ts'],
    ],
    why: 'the composition root knows every folder but the entries above it',
  },
  library: {
    may: [...belowMiddle, ...middle, ...services, 'config', 'embedded.ts', 'targets', 'http', 'main.ts'],
    why: 'the entry for programs: it starts a whole node',
  },
  serve: {
    may: [...belowMiddle, ...middle, ...services, 'config', 'embedded.ts', 'targets', 'http', 'main.ts'],
    why: 'the entry for a process of its own: it starts a whole node, its HTTP server and, by direct call, its built-in worker',
  },
  testing: {
    may: [
      ...belowMiddle,
      ...middle,
      ...services,
      'config',
      'keep-alive',
      'embedded.ts',
      'targets',
      'main.ts',
      'library',
      'node-version.ts',
    ],
    why: 'the entry for tests of programs: it starts a whole node on a clock of its own, with what starts runs of graphs',
  },
  administration: {
    may: [
      ...foundation,
      'store',
      'observability',
      'redis',
      'kafka',
      'config',
      'embedded.ts',
      'jobs',
      'http',
      'node-version.ts',
    ],
    why: 'the entry for operators: it works on the database and on files, whether or not a node runs',
  },
  'node-version.ts': { may: [], why: 'it runs first, on Nodes that can run nothing else' },
  'index.ts': {
    may: ['library', 'serve', 'config', 'jobs', 'executions', 'observability', 'node-version.ts'],
    why: 'the public surface names what the entries offer',
  },
}

/** What each package may import from elsewhere in its shipped code; none: anything its package.json lists. */
export const packageRules: Record<string, { may: RegExp; why: string }> = {
  contract: {
    may: /^typebox$/,
    why: 'it runs in servers, workers, browsers and the CLI: it brings nothing else along',
  },
  sdk: {
    may: /^(@carillon\/contract(\/node-version|\/process)?|@standard-schema\/spec|undici|node:.+)$/,
    why: 'it is installed in every program that has a handler: it brings nothing along',
  },
  embedded: {
    may: /^(@carillon\/contract(\/node-version)?|pg|node:.+)$/,
    why: 'it starts a PostgreSQL and knows nothing of what it is for',
  },
}

/** Folders of packages/server/src that may not import the SDK, and why. */
export const withoutSdk: Record<string, string> = {
  lib: 'the store is built on it',
  store: 'it shares the wire with workers, and the wire is the contract: how a worker is written does not concern rows',
}

const serverRoot = 'packages/server/src/'
/** What rules may use: each answers by its arguments alone. */
const pureLibraries = /^(@carillon\/contract|@marcbachmann\/cel-js|node:crypto)$/
/** Optional peers: imported as a value anywhere else, they would be needed wherever the server is. */
const loaders: Record<string, string> = {
  '@carillon/embedded': `${serverRoot}embedded.ts`,
  etcd3: `${serverRoot}leadership/etcd.ts`,
  redis: `${serverRoot}redis/client.ts`,
  '@platformatic/kafka': `${serverRoot}kafka/client.ts`,
}

export function importDirection(files: readonly SourceFile[]): Offence[] {
  return files
    .filter(({ path }) => path.startsWith(serverRoot))
    .flatMap((file) => {
      const room = roomOf(file.path)
      const rule = serverRules[room]
      if (!rule)
        return [{ at: `${file.path}:1`, what: `${room} has no place in test/support/import-rules.ts: give it one` }]
      return importsOf(file).flatMap(({ from, line }): Offence[] => {
        if (!from.startsWith('.')) return []
        const target = posix.join(posix.dirname(file.path), from)
        if (!target.startsWith(serverRoot)) return []
        const other = roomOf(target)
        if (other === room || rule.may.includes(other)) return []
        return [{ at: `${file.path}:${line}`, what: `${room} imports ${other}: ${rule.why}` }]
      })
    })
}

export function packageImports(files: readonly SourceFile[]): Offence[] {
  return files
    .filter((file) => file.path.startsWith('packages/'))
    .flatMap((file) => {
      const home = file.path.split('/').slice(0, 2).join('/')
      const rule = packageRules[home.split('/')[1]!]
      const isPure = file.path.startsWith(`${serverRoot}domain/`)
      return importsOf(file).flatMap(({ from, line, typeOnly }): Offence[] => {
        const at = `${file.path}:${line}`
        if (from.startsWith('.')) {
          const inside = posix.join(posix.dirname(file.path), from).startsWith(`${home}/`)
          return inside ? [] : [{ at, what: `${from} lies in another package: import it by its name` }]
        }
        if (isTest(file)) return []
        const loader = loaders[from]
        if (loader !== undefined && !typeOnly && file.path !== loader)
          return [{ at, what: `imports ${from}: it may be missing; ${loader} loads it` }]
        if (rule && !rule.may.test(from)) return [{ at, what: `imports ${from}: ${rule.why}` }]
        const reason = file.path.startsWith(serverRoot) ? withoutSdk[roomOf(file.path)] : undefined
        if (reason !== undefined && from.startsWith('@carillon/sdk'))
          return [{ at, what: `imports ${from}: ${reason}` }]
        if (isPure && !pureLibraries.test(from)) {
          return [{ at, what: `imports ${from}: ${serverRules.domain!.why}` }]
        }
        return []
      })
    })
}

function roomOf(path: string): string {
  return path.slice(serverRoot.length).split('/')[0]!
}
