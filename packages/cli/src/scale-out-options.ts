/** Servers that a node uses besides PostgreSQL: the options of `serve` and `demo`. */
import type { EngineSettings } from '@carillon/server'
import { type Command, Option } from 'commander'
import { addKafkaOptions, type KafkaOptions } from './kafka-options.ts'
import { addRedisOptions, type RedisOptions } from './redis-options.ts'

export interface ScaleOutOptions extends RedisOptions, KafkaOptions {
  leadership?: string
}

export function addScaleOutOptions(command: Command): Command {
  command.addOption(
    new Option(
      '--leadership <url>',
      'etcd that elects the leaders of shards, instead of PostgreSQL: etcd://host:2379',
    ).env('CARILLON_LEADERSHIP'),
  )
  return addKafkaOptions(addRedisOptions(command))
}

export function scaleOutSettings({ leadership, hotWindow, signals, queue, publishEvents }: ScaleOutOptions): {
  engine?: EngineSettings
} {
  const engine = {
    ...(leadership !== undefined && { leadership }),
    ...(hotWindow !== undefined && { hotWindow }),
    ...(signals !== undefined && { signals }),
    ...(queue !== undefined && { queue }),
    ...(publishEvents !== undefined && { publishEvents }),
  }
  return Object.keys(engine).length > 0 ? { engine } : {}
}
