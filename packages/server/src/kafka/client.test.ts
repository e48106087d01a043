import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { kafkaConnection, loadKafka, withLateErrors } from './client.ts'

it('a connection that failed may fail again, and the process goes on', async () => {
  await using stack = new AsyncDisposableStack()
  // A broker that is frozen: it is connected to and never answers.
  const sockets: Socket[] = []
  const frozen = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1')
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    frozen.close()
  })
  await once(frozen, 'listening')
  const { port } = frozen.address() as AddressInfo
  const { Producer } = await loadKafka()
  const auth = { mechanism: 'PLAIN' as const, username: 'u', password: 'p' }
  const address = { brokers: [`127.0.0.1:${port}`], auth, tls: null, prefix: 'x', replicas: null }
  const client = withLateErrors(new Producer(await kafkaConnection(address, { clientId: 'test', timeoutMs: 100 })))
  stack.defer(() => client.close(true))
  const connections: { emit(event: 'error', error: Error): boolean }[] = []
  client.connections.on('connecting', ({ connection }) => connections.push(connection))
  await expect(client.metadata({ topics: [] })).rejects.toThrow()
  expect(connections).toHaveLength(1)
  for (const again of ['second', 'third']) expect(connections[0]!.emit('error', new Error(again))).toBe(true)
})
