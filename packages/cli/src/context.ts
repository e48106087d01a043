/** What a command works with: the global options, the output, the client. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@carillon/sdk'
import type { Command } from 'commander'
import { UsageError } from './failure.ts'
import { connect, type NodeClient } from './node-client.ts'
import { Output } from './output.ts'

export interface GlobalOptions {
  url: string
  token?: string
  tenant?: string
  ca?: string
  json: boolean
  color: boolean
  verbose: boolean
}

export class Context {
  readonly globals: GlobalOptions
  readonly out: Output
  readonly command: Command
  #node: NodeClient | null = null

  constructor(command: Command) {
    const globals = command.optsWithGlobals<GlobalOptions>()
    this.command = command
    this.globals = globals
    this.out = new Output(globals)
  }

  get urls(): string[] {
    const urls = this.globals.url.split(',').map((url) => url.trim().replace(/\/+$/, ''))
    for (const url of urls) {
      if (!/^https?:\/\//.test(url) || !URL.canParse(url))
        throw new UsageError({
          message: `--url ${url} is not an http or https URL`,
          hint: 'Such as http://127.0.0.1:7171',
        })
    }
    return urls
  }

  get node(): NodeClient {
    const { token, tenant } = this.globals
    this.#node ??= connect({ urls: this.urls, token, tenant, ...this.tls })
    return this.#node
  }

  /** The CA to trust, if one is named. */
  get tls(): { tls?: { ca: string } } {
    const { ca } = this.globals
    if (ca === undefined) return {}
    try {
      return { tls: { ca: readFileSync(ca, 'utf8') } }
    } catch (error) {
      throw new UsageError(`--ca ${ca} cannot be read (${(error as NodeJS.ErrnoException).code})`)
    }
  }

  now(): number {
    return systemClock.now()
  }

  async close(): Promise<void> {
    await this.#node?.close()
  }
}

/** The action of a command: `run` gets the context, the command's own options and its arguments. */
export function act<Options, Args extends unknown[]>(
  run: (context: Context, options: Options, ...args: Args) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const context = new Context(given.at(-1) as Command)
    try {
      await run(context, given.at(-2) as Options, ...(given.slice(0, -2) as Args))
    } finally {
      await context.close()
    }
  }
}
