/** Files a user names: read, and refused with where they are wrong. */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Document, LineCounter, parseDocument } from 'yaml'
import { UsageError } from './failure.ts'

/** `-` is stdin. */
export async function readText(path: string): Promise<string> {
  if (path === '-') return text(process.stdin)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const why = { ENOENT: 'does not exist', EACCES: 'may not be read', EISDIR: 'is a directory' }
    const code = (error as NodeJS.ErrnoException).code as keyof typeof why
    throw new UsageError(`${path} ${why[code] ?? `cannot be read (${code})`}`)
  }
}

export interface ParsedYaml {
  value: unknown
  document: Document
  lines: LineCounter
}

/** YAML, and JSON, which is YAML. */
export function parseYaml(source: string, path: string): ParsedYaml {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, uniqueKeys: true })
  const [broken] = document.errors
  if (broken) {
    const { line, col } = lines.linePos(broken.pos[0])
    throw unreadable(`${path}:${line}:${col} ${broken.message.split('\n')[0]!.replace(/ at line \d+.*$/, '')}`)
  }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), document, lines }
  } catch (error) {
    throw unreadable(`${path} ${(error as Error).message}`)
  }
}

/** The fields of one thing, as a file holds them. */
export async function readYamlObject(
  path: string,
  { what, hint }: { what: string; hint: string },
): Promise<Record<string, unknown>> {
  const { value } = parseYaml(await readText(path), path)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new UsageError({ message: `${path} holds no ${what}`, hint })
}

/** An unquoted `*` begins an alias in YAML. */
function unreadable(message: string): UsageError {
  const hint = /alias/i.test(message) ? 'Put cron expressions into quotes: schedule: "*/5 * * * *"' : undefined
  return new UsageError({ message, hint })
}

export function parseJson(source: string, name: string): unknown {
  try {
    return JSON.parse(source)
  } catch (error) {
    throw new UsageError({
      message: `${name} is not JSON: ${(error as Error).message}`,
      hint: `Such as '{"name": "Ada"}'`,
    })
  }
}
