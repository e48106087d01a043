/**
 * How a program under another account reaches a folder whose parents it may not enter: below a 0700 directory of root,
 * say. Carillon opens the folder and hands the open descriptor down; on Linux `/proc/self/fd/3` then leads straight to
 * it, for the server and every process it forks, without capabilities, mounts or a second copy of the data. The same
 * way serves paths longer than PostgreSQL can hold. The real path is used wherever it works, so that `ps` shows it.
 */
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { type Account, canReach } from './account.ts'
import { fileTrouble, unavailable } from './failure.ts'

/** PostgreSQL keeps paths in 1,024 bytes and appends its own file names. */
const LONGEST_PATH_BYTES = 900

export interface FolderAccess {
  /** What to pass as -D. */
  path: string
  /** To be descriptor 3 of the program, if there is one. */
  handle: FileHandle | undefined
}

export async function openFolderAccess(folder: string, account: Account | undefined): Promise<FolderAccess> {
  const hidden = account !== undefined && !(await canReach(account, await realpath(folder)))
  if (!hidden && Buffer.byteLength(folder) <= LONGEST_PATH_BYTES) return { path: folder, handle: undefined }
  if (process.platform !== 'linux') {
    const why = hidden ? `cannot be entered by uid ${account.uid}, which runs the server` : 'has too long a path'
    throw unavailable(`The data directory ${folder} ${why}`, {
      hint: 'choose a data directory below folders that every account may enter, or start Carillon as an ordinary user',
    })
  }
  try {
    return { path: '/proc/self/fd/3', handle: await open(folder, 'r') }
  } catch (cause) {
    throw fileTrouble('open', folder, cause)
  }
}
