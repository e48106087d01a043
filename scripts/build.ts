/**
 * Builds what is published: JavaScript and declarations of every package under dist/, each with a package.json of its own.
 * In the repository everything runs from source, so nothing here is needed to develop or to test.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nodeVersions } from '../packages/contract/src/node-version.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const packages = ['contract', 'sdk', 'embedded', 'server', 'cli']
/** What `npm run compat` shows. Not in the sources: they run on the Node that comes with them. */
const engines: Record<string, string> = { contract: nodeVersions.sdk, ...nodeVersions }

rmSync(dist, { recursive: true, force: true })
const project = join(dist, 'tsconfig.json')
mkdirSync(dist)
writeFileSync(
  project,
  JSON.stringify({
    extends: '../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: '../packages',
      outDir: 'out',
    },
    include: packages.map((name) => `../packages/${name}/src`),
    exclude: ['../**/*.test.ts', '../**/*.test-support.ts', '../packages/sdk/**/testing/**'],
  }),
)
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { stdio: 'inherit' })

for (const name of packages) {
  const source = join(root, 'packages', name)
  const target = join(dist, name)
  cpSync(join(dist, 'out', name, 'src'), target, { recursive: true })
  for (const file of globSync('**/*.{sql,html,js}', { cwd: join(source, 'src') })) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(source, 'src', file), join(target, file))
  }
  for (const file of globSync('**/*.js', { cwd: target })) pointToJavaScript(join(target, file))
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'))
  cpSync(join(source, 'README.md'), join(target, 'README.md'))
  const published = { ...manifest(source), engines: { node: `>=${engines[name]}` } }
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
}
buildDashboard()
rmSync(join(dist, 'out'), { recursive: true })
rmSync(project)

/** Pages, and nothing that runs in Node: what they are made of stays here. */
function buildDashboard(): void {
  const source = join(root, 'packages/dashboard')
  const target = join(dist, 'dashboard')
  execFileSync(join(root, 'node_modules/.bin/vite'), ['build', '--logLevel', 'warn'], { cwd: source, stdio: 'inherit' })
  cpSync(join(source, 'dist'), join(target, 'dist'), { recursive: true })
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'))
  cpSync(join(source, 'README.md'), join(target, 'README.md'))
  const {
    devDependencies: _,
    scripts: __,
    ...published
  } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Record<string, unknown>
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
}

/** The compiler rewrites imports, but not the addresses of modules that are started as threads or processes. */
function pointToJavaScript(file: string): void {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace(/(new URL\((['"])\.{1,2}\/[\w/.-]+)\.ts\2/g, '$1.js$2'))
}

function manifest(source: string): object {
  const declared = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Record<string, unknown>
  const { exports, bin, files: _, ...rest } = declared
  const built = (path: string) => path.replace('./src/', './').replace(/\.ts$/, '.js')
  return {
    ...rest,
    ...(exports !== undefined && {
      exports: Object.fromEntries(
        Object.entries(exports as Record<string, string>).map(([entry, path]) => [
          entry,
          { types: built(path).replace(/\.js$/, '.d.ts'), default: built(path) },
        ]),
      ),
    }),
    ...(bin !== undefined && {
      bin: Object.fromEntries(Object.entries(bin as Record<string, string>).map(([name, path]) => [name, built(path)])),
    }),
  }
}
