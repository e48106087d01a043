/**
 * The shell target: runs one of the operator's programs. There is no shell: arguments arrive as they are. The payload is
 * on its standard input, or what a step of a graph is given instead. What it prints is logged as it comes; the beginning and the end are kept, however much that is.
 */
import type { WireJobInput } from '@carillon/contract'
import { type HandlerContext, PermanentError } from '@carillon/sdk'
import type { SecretRefs } from '../../config/secret-refs.ts'
import { readExactly } from '../../lib/exact-json.ts'
import { givenTo, stepFacts } from '../given.ts'
import { resolveSecret } from '../operator-check.ts'
import { RedactedStream } from '../redacted-stream.ts'
import { Redaction } from '../redaction.ts'
import { TargetFailed } from '../target-failed.ts'
import { OutputLog } from './output-log.ts'
import { ProcessGroup } from './process-group.ts'
import { Tail } from './tail.ts'

export type ShellTarget = NonNullable<WireJobInput['target']['shell']>

export interface ShellTargetOptions {
  /** Programs by name. */
  programs: ReadonlyMap<string, string>
  environment: Readonly<Record<string, string>>
  secrets: SecretRefs
}

export interface ShellResult {
  exitCode: 0
  stdout: string
  /** The last line that was printed, if it is a JSON object or array: numbers as they were written. */
  value?: unknown
}

export class ProgramFailed extends Error {
  override readonly name = 'ProgramFailed'
}

const resultBytes = 32 * 1024
const longestGraceMs = 5_000

export class ShellTargetRunner {
  readonly #options: ShellTargetOptions

  constructor(options: ShellTargetOptions) {
    this.#options = options
  }

  async run(ctx: HandlerContext): Promise<ShellResult> {
    const target = (ctx.target as { shell?: ShellTarget } | null)?.shell
    if (!target) throw new PermanentError('the execution has no shell target')
    const path = this.#options.programs.get(target.command)
    // Another node may have it.
    if (path === undefined) throw new ProgramFailed(`${target.command} is not on the list of this node’s operator`)
    const secrets = await this.#secrets(target, ctx.tenant)
    const redaction = new Redaction(Object.values(secrets))
    ctx.signal.throwIfAborted()
    const stdout = new Tail(resultBytes)
    const output = new OutputLog((line) => ctx.log(line))
    const streams = {
      stdout: new RedactedStream(redaction, (chunk) => {
        output.add(chunk)
        stdout.add(chunk)
      }),
      stderr: new RedactedStream(redaction, (chunk) => output.add(chunk)),
    }
    const group = new ProcessGroup({
      path,
      args: target.args ?? [],
      env: { ...this.#options.environment, ...secrets, ...facts(ctx) },
      input: `${JSON.stringify(givenTo(ctx))}\n`,
      onOutput: (stream, chunk) => streams[stream].add(chunk),
    })
    // Before the execution is taken from us, so that it never runs beside its successor.
    const graceMs = Math.min(longestGraceMs, ctx.cancelGraceSec * 500)
    const stop = () => group.stop(graceMs)
    ctx.signal.addEventListener('abort', stop)
    try {
      const { code, signal } = await group.ended
      streams.stdout.end()
      streams.stderr.end()
      output.end()
      ctx.signal.throwIfAborted()
      if (code !== 0) throw new ProgramFailed(`${target.command} ${howEnded(code, signal)}${lastWords(output)}`)
      return resultOf(stdout.toString(), redaction)
    } catch (error) {
      const { code } = error as { code?: string }
      throw code === undefined ? error : new ProgramFailed(`${target.command} could not be started (${code})`)
    } finally {
      ctx.signal.removeEventListener('abort', stop)
    }
  }

  async #secrets({ env = {} }: ShellTarget, tenant: string): Promise<Record<string, string>> {
    const values: Record<string, string> = {}
    for (const [name, { secretRef }] of Object.entries(env)) {
      values[name] = await resolveSecret(this.#options.secrets, secretRef, { tenant })
      if (values[name].includes('\0')) throw new TargetFailed(`${secretRef} has a NUL, which no variable can hold`)
    }
    return values
  }
}

function facts(ctx: HandlerContext): Record<string, string> {
  const { runId, step, itemIndex } = stepFacts(ctx)
  return {
    CARILLON_EXECUTION_ID: ctx.executionId,
    CARILLON_JOB_ID: ctx.jobId,
    CARILLON_TENANT: ctx.tenant,
    CARILLON_ATTEMPT: `${ctx.attempt}`,
    CARILLON_FENCE: `${ctx.fence}`,
    CARILLON_SCHEDULED_FOR: ctx.scheduledFor.toISOString(),
    ...(runId !== undefined && { CARILLON_RUN_ID: runId }),
    ...(step !== undefined && { CARILLON_STEP: step }),
    ...(itemIndex !== undefined && { CARILLON_ITEM_INDEX: itemIndex }),
  }
}

function howEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}

function lastWords({ lastLine }: OutputLog): string {
  return lastLine === '' ? '' : `: ${lastLine.trimEnd().slice(0, 500)}`
}

function resultOf(stdout: string, redaction: Redaction): ShellResult {
  const line = stdout.trimEnd().split('\n').at(-1)!
  const result: ShellResult = { exitCode: 0, stdout }
  if (!/^\s*[{[]/.test(line)) return result
  try {
    return { ...result, value: readExactly(redaction.cleanJson(line)) }
  } catch {
    return result
  }
}
