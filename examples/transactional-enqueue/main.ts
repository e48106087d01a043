/**
 * The order and the work it needs commit together or not at all, and so do the work's effect and its end.
 *
 *   DATABASE_URL=postgres://… npx node examples/transactional-enqueue/main.ts
 */
import { createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'

const databaseUrl = process.env.DATABASE_URL
if (!databaseUrl) throw new Error('Set DATABASE_URL to a PostgreSQL database')
const pool = new pg.Pool({ connectionString: databaseUrl })
await pool.query('create table if not exists orders (id int primary key, shipped_by text)')
await pool.query('truncate orders')

const ship = defineHandler<{ orderId: number }>({ name: 'ship' })
const carillon = await createCarillon({ databaseUrl })
carillon.handle(ship, async (ctx) => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('update orders set shipped_by = $2 where id = $1', [ctx.payload.orderId, ctx.executionId])
    await ctx.completeIn(client, { shipped: ctx.payload.orderId }) // throws if another attempt owns it now
    await client.query('commit')
  } finally {
    client.release()
  }
})
await carillon.start()

/** Inserts an order and enqueues its shipping; whatever `confirm` throws undoes both. */
async function order(id: number, confirm: () => void) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('insert into orders (id) values ($1)', [id])
    const handle = await carillon.enqueue(ship, { orderId: id }, { tx: client })
    confirm()
    await client.query('commit')
    return handle
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

const kept = await order(1, () => {})
console.log('committed:', await kept.result({ waitMs: 30_000 }))
await order(2, () => {
  throw new Error('the card was declined')
}).catch((error: Error) => console.log('rolled back:', error.message))
const { rows } = await pool.query('select id, shipped_by is not null shipped from orders order by id')
console.log('orders:', rows)

await carillon.stop()
await pool.end()
