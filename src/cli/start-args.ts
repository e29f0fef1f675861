// What may stand behind `millrace start`. A node starts without loading what talks to nodes, so this is read before all that.

/** As written, commas and all; none: not told. null: something else is written there, which the other commands' reader explains. */
export function readRoleArgs(args: readonly string[]): readonly string[] | null {
  const roles: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string
    const next = args[at + 1]
    if (arg.startsWith('--role=')) roles.push(arg.slice('--role='.length))
    else if (arg === '--role' && next !== undefined) {
      roles.push(next)
      at += 1
    } else return null
  }
  return roles
}
