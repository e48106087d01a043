/**
 * All output of the command line goes through here. With --json, stdout holds one JSON document or JSON lines and
 * nothing else; what is meant for people is left out, and an error is one JSON line on stderr. Without, stdout holds
 * what was asked for and stderr everything about it, so that a pipe gets the data alone.
 */
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { fieldOf } from '@carillon/contract'
import { type Failure, Negative, UsageError } from './failure.ts'
import { type Column, type Paint, printable, table } from './table.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta'

export interface OutputOptions {
  json: boolean
  color: boolean
  verbose: boolean
}

export class Output {
  readonly json: boolean
  readonly verbose: boolean
  readonly #color: boolean
  #inProgress = false

  constructor(options: OutputOptions) {
    this.json = options.json
    this.verbose = options.verbose
    this.#color = options.color
  }

  /** Colours only where a terminal wants them: NO_COLOR and FORCE_COLOR are obeyed. */
  style(style: Style | readonly Style[], text: string, stream: NodeJS.WriteStream = process.stdout): string {
    return this.#color ? styleText([...(typeof style === 'string' ? [style] : style)], text, { stream }) : text
  }

  /** What was asked for, for people. */
  line(text = ''): void {
    if (!this.json) process.stdout.write(`${text}\n`)
  }

  /** About what was asked for: goes to stderr. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`)
  }

  /** The progress of an operation: one line that is overwritten, on a terminal. Null clears it. */
  progress(text: string | null): void {
    if (!this.moving || (text === null && !this.#inProgress)) return
    this.#inProgress = text !== null
    process.stderr.write(`\r\u001b[K${text ?? ''}`)
  }

  /** One JSON document, or one line of several; only with --json. */
  document(value: unknown): void {
    if (this.json) process.stdout.write(`${JSON.stringify(value)}\n`)
  }

  /** Text that is the answer itself, such as SQL or YAML, whatever the form of output. */
  raw(text: string): void {
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  }

  /** A list: JSON lines, or a table, or one sentence when there is nothing. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): void {
    if (this.json) for (const row of rows) this.document(row)
    else if (rows.length === 0) this.note(empty)
    else this.line(table(rows, columns, { width: this.width, heading: (text) => this.style('dim', text) }))
  }

  /** One thing: a JSON document, or its fields one below the other. */
  record(value: unknown, fields: readonly (readonly [string, string | number | null | undefined, Paint?])[]): void {
    this.document(value)
    const shown = fields.filter(([, text]) => text !== null && text !== undefined && text !== '')
    const width = Math.max(...shown.map(([name]) => name.length))
    for (const [name, text, paint = (plain: string) => plain] of shown) {
      this.line(`${this.style('dim', name.padEnd(width))}  ${paint(printable(String(text)))}`)
    }
  }

  get width(): number {
    return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY
  }

  /** Whether a bar that moves can be shown. */
  get moving(): boolean {
    return !this.json && process.stderr.isTTY === true
  }

  state(state: string): Paint {
    const style = stateStyles[state]
    return style === undefined ? (text) => text : (text) => this.style(style, text)
  }

  failure(failure: Failure, thrown: unknown): void {
    if (this.json) {
      const { code, title, errors } = failure
      process.stderr.write(`${JSON.stringify({ code, title, errors })}\n`)
      return
    }
    const red = (text: string) => this.style('red', text, process.stderr)
    const details = failure.errors.map(({ pointer, message, hint }) => {
      // Most messages name their field.
      const where = pointer && !message.startsWith(fieldOf(pointer)) ? `${printable(pointer)} ` : ''
      return `${where}${printable(message)}${hint ? `. ${printable(hint)}` : ''}`
    })
    const code = /^(USAGE|NO|DEFECT|UNREACHABLE|UNAVAILABLE)$/.test(failure.code) ? '' : ` (${failure.code})`
    const title = printable(failure.title)
    const [first, ...more] = details
    if (first === undefined) process.stderr.write(`${red('error:')} ${title}${code}\n`)
    else if (more.length > 0) process.stderr.write(`${red('error:')} ${title}${code}\n  ${details.join('\n  ')}\n`)
    else process.stderr.write(`${red('error:')} ${failure.code === 'USAGE' ? '' : `${title}: `}${first}${code}\n`)
    if (this.verbose && thrown instanceof Error) process.stderr.write(`${thrown.stack}\n`)
  }

  /** Asks for confirmation. Without a terminal it must have been given as an option. */
  async confirm(question: string, yes: boolean | undefined): Promise<void> {
    if (yes) return
    if (this.json || !process.stdin.isTTY)
      throw new UsageError({ message: 'there is no terminal to ask for confirmation', hint: 'Add --yes' })
    const asking = createInterface({ input: process.stdin, output: process.stderr })
    try {
      const answer = await asking.question(`${question} [y/N] `)
      if (!/^y(es)?$/i.test(answer.trim())) throw new Negative('Nothing was done.')
    } finally {
      asking.close()
    }
  }
}

const stateStyles: Record<string, Style> = {
  ...{ SUCCEEDED: 'green', ACTIVE: 'green', LIVE: 'green', OK: 'green' },
  ...{ RUNNING: 'cyan', PENDING: 'yellow', BLOCKED: 'yellow', PAUSED: 'yellow', SUSPECT: 'yellow', WARN: 'yellow' },
  ...{ FAILED: 'magenta', TIMED_OUT: 'magenta', WORKER_LOST: 'magenta', DEAD: 'red', FAIL: 'red' },
  ...{ CANCELLED: 'dim', SKIPPED: 'dim', COMPLETED: 'dim', DELETED: 'dim' },
}
