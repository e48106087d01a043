/** The source files of the repository, as text, for rules about how they are written. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const places = ['packages', 'test', 'bench', 'proof', 'examples', 'scripts']
const passedOver = new Set(['node_modules', 'dist', 'data', '.vitest', 'coverage'])

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  path: string
  text: string
  /** The text without its comments, line by line as in the file. */
  code: string
}

export interface Import {
  line: number
  /** What stands between the quotes. */
  from: string
  typeOnly: boolean
}

export function readSourceTree(): SourceFile[] {
  return places
    .flatMap((place) => filesUnder(place))
    .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')))
}

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, code: path.endsWith('.sql') ? withoutSqlComments(text) : withoutComments(text) }
}

function filesUnder(folder: string): string[] {
  let entries: ReturnType<typeof readEntries>
  try {
    entries = readEntries(folder)
  } catch {
    return [] // not every place exists yet
  }
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return passedOver.has(entry.name) ? [] : filesUnder(path)
    return /\.(ts|tsx|sql)$/.test(entry.name) ? [path] : []
  })
}

function readEntries(folder: string) {
  return readdirSync(join(root, folder), { withFileTypes: true })
}

/** A file that is no part of what is shipped: a test, what tests share, a measurement. */
export function isTest({ path }: SourceFile): boolean {
  return (
    !path.startsWith('packages/') ||
    /\.(test|test-support)\.tsx?$/.test(path) ||
    /^packages\/sdk\/.*\/testing\//.test(path)
  )
}

export function importsOf(file: SourceFile): Import[] {
  const statements = /\b(?:import|export)\b(\s+type\b)?[^'"`;()]*?\bfrom\s*'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g
  return [...file.code.matchAll(statements)].map((match) => ({
    line: lineAt(file.code, match.index),
    from: match[2] ?? match[3]!,
    typeOnly: match[1] !== undefined,
  }))
}

/** The lines of a text on which a pattern is found. */
export function linesWith(text: string, pattern: RegExp): number[] {
  return text.split('\n').flatMap((line, i) => (pattern.test(line) ? [i + 1] : []))
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

/** The name without folder and ending. */
export function stemOf(path: string): string {
  return basename(path).replace(/\.(ts|tsx|sql)$/, '')
}

/** Texts stay; a comment becomes spaces, so that lines keep their numbers. */
function withoutComments(text: string): string {
  const tokens = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
  return text.replace(tokens, (token) => (token.startsWith('/') ? token.replace(/[^\n]/g, ' ') : token))
}

/** Code without what stands in quotes; a text becomes spaces, so that lines keep their numbers. */
export function withoutTexts(code: string): string {
  const texts = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
  return code.replace(texts, (text) => text.replace(/[^\n]/g, ' '))
}

function withoutSqlComments(text: string): string {
  return text.replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length))
}
