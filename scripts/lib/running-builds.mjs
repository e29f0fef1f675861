// Remembers which files of the bundle a running process may still load: a node of a checkout imports drivers and tools when it
// first uses them, which may be after any number of later builds.
//
// One file per process, named by its id. A process that was killed leaves its file behind; the next reader removes it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from './run.mjs'

const folderOf = (root) => join(root, '.cache', 'running')

/** For the life of this process; a folder that cannot be written costs only this protection. */
export function noteRunningBuild(root, files) {
  const path = join(folderOf(root), String(process.pid))
  try {
    mkdirSync(folderOf(root), { recursive: true })
    writeFileSync(path, JSON.stringify(files))
  } catch {
    return
  }
  process.once('exit', () => rmSync(path, { force: true }))
}

/** Files of all builds that run. */
export function filesOfRunningBuilds(root) {
  return listOr(folderOf(root)).flatMap((name) => {
    const path = join(folderOf(root), name)
    if (isAlive(Number(name))) return readOr(path)
    rmSync(path, { force: true })
    return []
  })
}

function listOr(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A process may be about to write its file, or to remove it. */
function readOr(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return []
  }
}
