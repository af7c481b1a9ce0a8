package config

import "syscall"

// hasACL reports whether a file has an access control list, so that its mode does not say all. Source: acl(5), xattr(7).
func hasACL(path string) bool {
	n, err := syscall.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
