export { ALL_ROLES, parseRoles, ROLES, type Role } from './role.ts'
