/** Where a page ended: the last id, as an opaque string. */
import { CarillonError } from '@carillon/contract'

export function cursorOf(id: string): string {
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')
}

export function idOfCursor(cursor: string): string {
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  if (hex.length !== 32) {
    throw new CarillonError('VALIDATION', {
      pointer: '/cursor',
      message: 'is not a cursor of this list',
      hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
    })
  }
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
