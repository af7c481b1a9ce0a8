// Package operand knows the operands of derived metrics as a pmcd shows them: their names and descriptors, the
// instances of their domains, and samples of their values. It has no goroutine; what is in it is immutable, but for
// Names, which one goroutine replaces as a whole, Directory, which belongs to that goroutine, and Maker, which belongs to one
// connection or lock.
//
//	Catalog   what pmcd says of the names that definitions use      LookUp
//	Directory a Catalog that is kept up to date; what is asked for again, and when  Directory.LookUp, LookUpRefused
//	Names     names and members of the domains that expressions need  Names.LookUp
//	List      operands that one fetch asks for
//	Sample    the values of a List at one time                        Maker.Make
package operand
