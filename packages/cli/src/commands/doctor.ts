import type { Finding } from '@carillon/server/administration'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from '../database-options.ts'
import { Negative } from '../failure.ts'
import { addQueueOption, type KafkaOptions } from '../kafka-options.ts'
import { addRedisOptions, type RedisOptions } from '../redis-options.ts'
import { printable } from '../table.ts'

/** `carillon doctor`: what is wrong with this installation. */
export function registerDoctor(program: Command): void {
  addQueueOption(addRedisOptions(addDatabaseOptions(program.command('doctor'))))
    .description('what is wrong with this installation; exit code 1 if something is')
    .addHelpText('after', '\nExample:\n  $ carillon doctor --database-url postgres://carillon@db/carillon')
    .action(act(doctor))
}

async function doctor(context: Context, options: DatabaseOptions & RedisOptions & KafkaOptions): Promise<void> {
  const { out } = context
  const { examine } = await import('@carillon/server/administration')
  const redis = [options.hotWindow, options.signals].filter((url) => url !== undefined)
  const { queue } = options
  const findings = await examine(databasePlace(context, options), { redis, ...(queue !== undefined && { queue }) })
  for (const finding of findings) {
    out.document(finding)
    out.line(lineOf(context, finding))
    if (finding.hint) out.line(`                     ${out.style('dim', '->')} ${printable(finding.hint)}`)
  }
  const count = (status: string) => findings.filter((finding) => finding.status === status).length
  out.line()
  out.line(`${count('OK')} ok, ${count('WARN')} to watch, ${count('FAIL')} to fix`)
  if (count('FAIL') > 0) throw new Negative()
}

function lineOf({ out }: Context, { status, check, message }: Finding): string {
  return `${out.state(status)(status.padEnd(4))}  ${check.padEnd(13)}  ${printable(message)}`
}
