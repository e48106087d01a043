import { type Job, urlText } from '@carillon/contract'

/** What runs it, in one line. */
export function targetText({ target }: Pick<Job, 'target'>): string {
  if (target.http) return `${target.http.method ?? 'POST'} ${urlText(target.http.url)}`
  if (target.shell) return `shell ${target.shell.command}`
  if (target.kafka) return `kafka ${target.kafka.topic}`
  if (target.lambda) return `lambda ${target.lambda.functionArn.split(':').at(-1)}`
  if (target.dag) return `run of ${target.dag}`
  return target.handler ?? ''
}
