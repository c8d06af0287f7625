# cmake -DIN=file -DOUT=file.c -DNAME=symbol -DHEADER=header -P embed_text.cmake
# Makes an ASCII file a C string. An array of bytes, because a string literal has a portable limit.
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
if(bytes MATCHES "0x[89a-f]")
  message(FATAL_ERROR "${IN}: only ASCII can be embedded")
endif()
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUT}" "#include <${HEADER}>\n\nconst char ${NAME}[] = {\n    ${bytes}0x00};\n")
