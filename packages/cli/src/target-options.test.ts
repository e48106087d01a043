import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addTargetOptions, type TargetOptions, targetSettings } from './target-options.ts'

function settingsOf(...args: string[]) {
  const command = addTargetOptions(new Command('serve').exitOverride())
  command.configureOutput({ writeErr: () => {} }).parse(args, { from: 'user' })
  return targetSettings(command.opts<TargetOptions>()).targets
}

const url = 'kafka://user:a=b@host:9092?mechanism=PLAIN'

describe('options of targets', () => {
  it('are none unless given', () => {
    expect(settingsOf()).toBeUndefined()
  })

  it('list secrets, for all tenants and for one', () => {
    const args = ['--allow-secret', 'env:ALL_*', '--allow-tenant-secret', 'acme=env:ACME__*']
    expect(settingsOf(...args, '--allow-tenant-secret', 'acme=file:/run/acme=1/*')).toEqual({
      secrets: ['env:ALL_*'],
      tenantSecrets: { acme: ['env:ACME__*', 'file:/run/acme=1/*'] },
    })
  })

  it('list clusters of Kafka, and topics for all of them or for one', () => {
    const args = ['--kafka-cluster', `main=${url}`, '--kafka-cluster', 'logs=env:LOGS', '--allow-topic', 'audit']
    expect(settingsOf(...args, '--allow-topic', 'main:orders.*')).toEqual({
      kafka: { main: { url, topics: ['audit', 'orders.*'] }, logs: { url: 'env:LOGS', topics: ['audit'] } },
    })
  })

  it('list functions of Lambda', () => {
    const functions = ['arn:aws:lambda:eu-west-1:123456789012:function:orders-*']
    const args = ['--allow-function', functions[0]!]
    expect(settingsOf(...args)).toEqual({ lambda: { functions } })
    const keys = ['--aws-access-key-id', 'file:/id', '--aws-secret-access-key', 'file:/key']
    const credentials = { accessKeyId: 'file:/id', secretAccessKey: 'file:/key' }
    expect(settingsOf(...args, ...keys)).toEqual({ lambda: { functions, credentials } })
    expect(settingsOf(...args, ...keys, '--aws-session-token', 'file:/t', '--lambda-endpoint', 'https://a')).toEqual({
      lambda: { functions, credentials: { ...credentials, sessionToken: 'file:/t' }, endpoint: 'https://a' },
    })
  })

  it.each([
    [['--kafka-cluster', 'main'], 'Give name=url'],
    [['--allow-tenant-secret', 'env:ACME__*'], 'Give tenant=pattern'],
    [['--kafka-cluster', `main=${url}`], 'main has no topics'],
    [['--allow-topic', 'orders'], '--allow-topic goes with --kafka-cluster'],
    [['--kafka-cluster', `main=${url}`, '--allow-topic', 'other:x'], 'names a cluster that is not there'],
    [['--lambda-endpoint', 'https://a'], 'go with --allow-function'],
    [['--aws-session-token', 'env:A'], 'go with --allow-function'],
    [['--allow-function', 'arn', '--aws-session-token', 'env:A'], 'go together'],
  ])('that contradict each other are refused: %j', (args, message) => {
    expect(() => settingsOf(...args)).toThrow(message)
  })
})
