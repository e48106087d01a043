import { type Command, Option } from 'commander'

export interface KafkaOptions {
  queue?: string
  publishEvents?: string
}

export function addKafkaOptions(command: Command): Command {
  return addQueueOption(command).addOption(
    new Option(
      '--publish-events <url>',
      'Kafka to which events, dead letters and the audit are published: kafka://host:9092/prefix',
    ).env('CARILLON_PUBLISH_EVENTS'),
  )
}

export function addQueueOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--queue <url>',
      'Kafka for telling nodes what is ready, instead of reading PostgreSQL: kafka://host:9092',
    ).env('CARILLON_QUEUE'),
  )
}
