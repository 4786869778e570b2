"""A read-only checker of stored data: does what lies in a table agree with itself (design, section 5)?"""
