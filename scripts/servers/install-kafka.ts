import { installKafka } from './kafka.ts'

await installKafka()
