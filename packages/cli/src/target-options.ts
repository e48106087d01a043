/** What a node may do besides handing work to workers: call HTTP targets, run programs, read secrets. */
import type { ServeSettings } from '@carillon/server'
import { type Command, InvalidArgumentError } from 'commander'

export interface TargetOptions {
  httpTargets: boolean
  allowAddress?: string[]
  allowPort?: number[]
  allowSecret?: string[]
  allowCommand?: Record<string, string>
  signWith?: string[]
}

export function addTargetOptions(command: Command): Command {
  return command
    .option('--no-http-targets', 'call no HTTP targets')
    .option(
      '--allow-address <address>',
      'a private address, CIDR or host that HTTP targets may reach; repeatable',
      gather,
    )
    .option('--allow-port <number>', 'a port that HTTP targets may use (default: all); repeatable', gatherPort)
    .option('--allow-secret <pattern>', 'secrets that targets may refer to, such as env:HOOK_*; repeatable', gather)
    .option('--allow-command <name=path>', 'a program that shell targets may run; repeatable', gatherCommand)
    .option('--sign-with <reference>', 'a key that signs HTTP targets, such as env:HOOK_KEY; at most two', gather)
}

export function targetSettings(options: TargetOptions): Pick<ServeSettings, 'targets'> {
  const { httpTargets, allowAddress, allowPort, allowSecret, allowCommand, signWith } = options
  const targets = {
    ...(!httpTargets && { http: false }),
    ...(allowAddress && { allow: allowAddress }),
    ...(allowPort && { ports: allowPort }),
    ...(allowSecret && { secrets: allowSecret }),
    ...(allowCommand && { shell: allowCommand }),
    ...(signWith && { signWith }),
  }
  return Object.keys(targets).length === 0 ? {} : { targets }
}

function gather(text: string, before: string[] = []): string[] {
  return [...before, text]
}

function gatherPort(text: string, before: number[] = []): number[] {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return [...before, Number(text)]
}

function gatherCommand(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Give name=path, such as backup=/usr/local/bin/backup.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
